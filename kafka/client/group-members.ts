import type { GroupPeer } from '../transport.ts'
import type { Coordinator } from './coordinator.ts'
import { classify, Disconnected, errorName, fatal, throwIfClosed } from './errors.ts'
import type { Context } from './options.ts'
import { consumerGroupDescribeV0 } from './protocol.ts'
import { backoff } from './retry.ts'

/** Marks the start of the address in a client id: the separator `@`, and the first characters of every address. */
const SEPARATOR = '@http'
const RETRY_MS = 50
const NO_OPERATIONS = false

/**
 * Adds the member's address to its client id, because KIP-848 has no field for an address. Other members see the client
 * id when they request the list of members.
 */
export function addressedClientId(clientId: string, address: string | undefined): string {
  return address === undefined ? clientId : `${clientId}@${address}`
}

/** Returns the address that a client id contains; undefined when there is none. */
function addressIn(clientId: string): string | undefined {
  const at = clientId.lastIndexOf(SEPARATOR)
  return at < 0 ? undefined : clientId.slice(at + 1)
}

/**
 * Returns the members of a group as its coordinator describes them, sorted by member id. The result is empty if the
 * group does not exist.
 * @throws Disconnected when there is no answer, or no successful one in time; TransportError when the request is
 * refused or `signal` fires
 */
export async function describeMembers(
  context: Context,
  coordinator: Coordinator,
  groupId: string,
  signal: AbortSignal,
): Promise<GroupPeer[]> {
  const retry = backoff(context, RETRY_MS)
  const deadline = context.runtime.monotonic() + context.options.requestTimeoutMs
  for (;;) {
    throwIfClosed(signal)
    const { groups } = await coordinator.send(consumerGroupDescribeV0.api, [groupId], NO_OPERATIONS)
    const [{ errorCode, errorMessage, members }] = groups
    const name = errorName(errorCode)
    if (name === 'NONE') return members.map(peerOf).sort((a, b) => (a.memberId < b.memberId ? -1 : 1))
    const kind = classify(name)
    if (name === 'GROUP_ID_NOT_FOUND') return []
    if (kind === 'fatal') throw fatal(name, `describing group ${groupId}`, errorMessage)
    if (kind === 'stale-coordinator') coordinator.forget()
    if (context.runtime.monotonic() > deadline) throw new Disconnected(`describing group ${groupId}: still ${name} at the deadline`)
    await retry.wait(signal)
  }
}

type Member = Awaited<ReturnType<typeof consumerGroupDescribeV0.api.async>>['groups'][number]['members'][number]

function peerOf({ memberId, clientId, assignment, subscribedTopicNames, rackId }: Member): GroupPeer {
  const partitions = assignment.topicPartitions.flatMap(({ topicName, partitions: numbers }) =>
    numbers.map((partition) => ({ topic: topicName, partition })),
  )
  return { memberId, address: addressIn(clientId), partitions, topics: subscribedTopicNames, notice: rackId ?? undefined }
}
