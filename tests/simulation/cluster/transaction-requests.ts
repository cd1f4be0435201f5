import { Writer } from '../../../kafka/client/protocol.ts'
import type { ClientRequest } from '../network.ts'
import type { SimulatedBroker } from './broker.ts'
import type { Cluster } from './cluster.ts'
import { codeFrom, Refused } from './errors.ts'
import { keyOf, type StoredOffset } from './groups.ts'
import { type Joining, join } from './join.ts'
import type { Identity } from './transactions.ts'

const NO_THROTTLE = 0
const NONE = -1
/** First version of TxnOffsetCommit that adds its group to the transaction. */
const ADDING_VERSION = 5
/** First version of EndTxn that raises the producer's epoch. */
const RAISING_VERSION = 5

function readIdentity(body: ClientRequest['body']): Identity {
  return { producerId: Number(body.readInt64()), epoch: body.readInt16() }
}

export function initProducerId({ body, reply }: ClientRequest, broker: SimulatedBroker, { transactions, checkCoordinator }: Cluster): void {
  const id = body.readNullableString()
  const timeoutMs = body.readInt32()
  const known = readIdentity(body)
  let begun: Identity = { producerId: NONE, epoch: NONE }
  const code = codeFrom(() => {
    if (id === null) {
      begun = { producerId: transactions.newProducerId(), epoch: 0 }
      return
    }
    checkCoordinator('transaction', id, broker)
    begun = transactions.init(id, timeoutMs, known.producerId === NONE ? undefined : known)
  })
  const answer = Writer.create().appendInt32(NO_THROTTLE).appendInt16(code)
  reply(answer.appendInt64(BigInt(begun.producerId)).appendInt16(begun.epoch).appendTaggedFields())
}

export function addPartitions({ body, reply }: ClientRequest, broker: SimulatedBroker, { transactions, checkCoordinator }: Cluster): void {
  const id = body.readString()
  const producer = readIdentity(body)
  const topics = body.readArray((topic) => {
    const name = topic.readString()
    return { name, partitions: topic.readArray((entry) => entry.readInt32(), true, false) }
  })
  const code = codeFrom(() => {
    checkCoordinator('transaction', id, broker)
    for (const { name, partitions } of topics) for (const partition of partitions) transactions.addPartition(id, producer, name, partition)
  })
  const answer = Writer.create().appendInt32(NO_THROTTLE)
  answer.appendArray(topics, (w, { name, partitions }) => {
    w.appendString(name).appendArray(partitions, (inner, partition) => {
      inner.appendInt32(partition).appendInt16(code)
    })
  })
  reply(answer.appendTaggedFields())
}

export function addOffsets({ body, reply }: ClientRequest, broker: SimulatedBroker, { transactions, checkCoordinator }: Cluster): void {
  const id = body.readString()
  const producer = readIdentity(body)
  const groupId = body.readString()
  const code = codeFrom(() => {
    checkCoordinator('transaction', id, broker)
    transactions.addGroup(id, producer, groupId)
  })
  reply(Writer.create().appendInt32(NO_THROTTLE).appendInt16(code).appendTaggedFields())
}

export function commitOffsetsInTransaction({ apiVersion, body, reply }: ClientRequest, broker: SimulatedBroker, cluster: Cluster): void {
  const id = body.readString()
  const groupId = body.readString()
  const producer = readIdentity(body)
  const memberEpoch = body.readInt32()
  const memberId = body.readString()
  body.readNullableString()
  const topics = readOffsets(body)
  const refused = codeFrom(() => cluster.checkCoordinator('group', groupId, broker))
  if (refused !== 0) {
    reply(offsetsAnswer(topics, refused))
    return
  }
  const group = cluster.group(groupId)
  const adds = apiVersion >= ADDING_VERSION
  const joining: Joining = {
    id,
    producer,
    what: `group ${groupId}`,
    adds,
    expect: () => group.expectPending(producer, adds),
    isPart: ({ groups }) => groups.has(groupId),
    add: () => cluster.transactions.addGroup(id, producer, groupId),
  }
  if (group.hasPending(producer)) store(undefined)
  else join(cluster, broker, joining, store)

  function store(error: string | undefined): void {
    const code = codeFrom(() => {
      if (error !== undefined) throw new Refused(error)
      cluster.checkCoordinator('group', groupId, broker)
      group.checkMember(memberId, memberEpoch, true)
      const offsets = topics.flatMap(({ name, partitions }) =>
        partitions.map(({ partition, stored }) => [keyOf(name, partition), stored] as const),
      )
      group.addPending(producer, offsets)
    })
    reply(offsetsAnswer(topics, code))
  }
}

export interface OffsetsOfTopic {
  readonly name: string
  readonly partitions: readonly { readonly partition: number; readonly stored: StoredOffset }[]
}

/** Reads the offsets in OffsetCommit and TxnOffsetCommit requests. */
export function readOffsets(body: ClientRequest['body']): OffsetsOfTopic[] {
  return body.readArray((topic) => {
    const name = topic.readString()
    const partitions = topic.readArray((entry) => {
      const partition = entry.readInt32()
      const offset = Number(entry.readInt64())
      const leaderEpoch = entry.readInt32()
      return { partition, stored: { offset, leaderEpoch, metadata: entry.readNullableString() } }
    })
    return { name, partitions }
  })
}

export function offsetsAnswer(topics: readonly OffsetsOfTopic[], code: number): Writer {
  const answer = Writer.create().appendInt32(NO_THROTTLE)
  answer.appendArray([...topics], (w, { name, partitions }) => {
    w.appendString(name).appendArray([...partitions], (inner, { partition }) => {
      inner.appendInt32(partition).appendInt16(code)
    })
  })
  return answer.appendTaggedFields()
}

export function endTransaction(request: ClientRequest, broker: SimulatedBroker, { transactions, checkCoordinator }: Cluster): void {
  const { apiVersion, body, reply } = request
  const id = body.readString()
  const producer = readIdentity(body)
  const marker = body.readBoolean() ? 'commit' : 'abort'
  let next: Identity = { producerId: NONE, epoch: NONE }
  const code = codeFrom(() => {
    checkCoordinator('transaction', id, broker)
    next = transactions.end(id, producer, marker, apiVersion >= RAISING_VERSION ? 2 : 1)
  })
  const answer = Writer.create().appendInt32(NO_THROTTLE).appendInt16(code)
  if (apiVersion >= RAISING_VERSION) answer.appendInt64(BigInt(next.producerId)).appendInt16(next.epoch)
  reply(answer.appendTaggedFields())
}

/** Answers ListTransactions for the state Ongoing. The client requests no other state. */
export function listTransactions({ reply }: ClientRequest, broker: SimulatedBroker, { transactions, coordinator }: Cluster): void {
  const open = transactions.ongoing().filter(({ id }) => coordinator('transaction', id) === broker)
  const answer = Writer.create()
    .appendInt32(NO_THROTTLE)
    .appendInt16(0)
    .appendArray([], () => {}, true, false)
  answer.appendArray(open, (w, { id, producerId, state }) => {
    w.appendString(id).appendInt64(BigInt(producerId)).appendString(state)
  })
  reply(answer.appendTaggedFields())
}

export function describeTransactions({ body, reply }: ClientRequest, broker: SimulatedBroker, cluster: Cluster): void {
  const ids = body.readArray((id) => id.readString(), true, false)
  const answer = Writer.create().appendInt32(NO_THROTTLE)
  answer.appendArray(ids, (w, id) => {
    const known = cluster.transactions.find(id)
    const code = codeFrom(() => {
      cluster.checkCoordinator('transaction', id, broker)
      if (known === undefined) throw new Refused('TRANSACTIONAL_ID_NOT_FOUND')
    })
    w.appendInt16(code)
      .appendString(id)
      .appendString(known?.state ?? '')
      .appendInt32(known?.timeoutMs ?? 0)
      .appendInt64(0n)
    w.appendInt64(BigInt(known?.producerId ?? NONE))
      .appendInt16(known?.epoch ?? NONE)
      .appendArray([], () => {})
  })
  reply(answer.appendTaggedFields())
}
