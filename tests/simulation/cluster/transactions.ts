import type { Actor, Scheduler } from '../scheduler.ts'
import { Refused } from './errors.ts'

/** Range of the times that the coordinator takes to write the markers of a transaction, ms. */
const MARKER_MS = [0.5, 12] as const
/** Interval at which the coordinator looks for transactions that have timed out, ms. */
const TIMEOUT_CHECK_MS = 1_000
const NONE = -1
/**
 * The last epoch in which a producer may begin a transaction. The end of that transaction raises the epoch once more,
 * to the highest signed 16-bit integer, and the producer gets a new producer id.
 */
export const LAST_EPOCH = 2 ** 15 - 2

/**
 * In version 2, the leaders add their partitions to a transaction, and the end of every transaction raises the epoch of
 * its producer (KIP-890).
 */
export type TransactionVersion = 1 | 2
export type Marker = 'commit' | 'abort'
export type TransactionState = 'Empty' | 'Ongoing' | 'PrepareCommit' | 'PrepareAbort' | 'CompleteCommit' | 'CompleteAbort'

export interface Identity {
  readonly producerId: number
  readonly epoch: number
}

export interface Transaction {
  readonly id: string
  producerId: number
  epoch: number
  /**
   * The producer id and epoch that the producer may still send if it retries the request that changed them; -1 if it
   * may not. The coordinator needs them to recognise such a retry.
   */
  formerProducerId: number
  formerEpoch: number
  /** The producer's identity after the transaction that is being ended. */
  next: Identity
  state: TransactionState
  timeoutMs: number
  startedAt: number
  readonly partitions: Map<string, { readonly topic: string; readonly partition: number }>
  readonly groups: Set<string>
}

/** Writes the end of a transaction to a log that has its records, or to a group that has its offsets. */
export interface Markers {
  /** @returns false if the log accepts no marker at the moment */
  partition(topic: string, partition: number, producer: Identity, marker: Marker): boolean
  group(groupId: string, producer: Identity, marker: Marker): void
}

/** The coordinator of all transactions. Its state survives the crash of any broker. */
export class Transactions {
  /** The version of transactions that is enabled in the cluster. Each request also has its own version. */
  version: TransactionVersion = 2
  /** The first epoch of a new transactional id. If it is high, a run uses up the epochs of the producer id. */
  firstEpoch = 0
  readonly #all = new Map<string, Transaction>()
  readonly #scheduler: Scheduler
  readonly #actor: Actor
  readonly #markers: Markers
  #nextProducerId = 1_000

  constructor(scheduler: Scheduler, actor: Actor, markers: Markers) {
    this.#scheduler = scheduler
    this.#actor = actor
    this.#markers = markers
    this.#checkTimeouts()
  }

  newProducerId(): number {
    return this.#nextProducerId++
  }

  find(id: string): Transaction | undefined {
    return this.#all.get(id)
  }

  ongoing(): Transaction[] {
    return [...this.#all.values()].filter(({ state }) => state === 'Ongoing')
  }

  /**
   * Begins a new epoch, unless the request is a retry of the request that began the current epoch. If a transaction is
   * open, aborts it instead, and the caller has to retry.
   * @param expected the identity that the caller had; undefined to fence every other producer
   */
  init(id: string, timeoutMs: number, expected: Identity | undefined): Identity {
    const known = this.#all.get(id)
    if (known === undefined) return this.#create(id, timeoutMs)
    if (isEnding(known)) throw new Refused('CONCURRENT_TRANSACTIONS')
    if (expected !== undefined && !isIdOf(known, expected)) throw new Refused('PRODUCER_FENCED')
    if (known.state === 'Ongoing') {
      this.#fence(known)
      throw new Refused('CONCURRENT_TRANSACTIONS')
    }
    if (known.epoch >= LAST_EPOCH && (expected === undefined || expected.epoch === known.epoch)) {
      known.formerProducerId = expected === undefined ? NONE : known.producerId
      known.formerEpoch = expected === undefined ? NONE : known.epoch
      known.producerId = this.newProducerId()
      known.epoch = 0
    } else if (expected === undefined || expected.epoch === known.epoch) {
      known.formerEpoch = expected === undefined ? NONE : known.epoch
      known.epoch++
    } else if (expected.epoch !== known.formerEpoch) throw new Refused('PRODUCER_FENCED')
    known.state = 'Empty'
    known.timeoutMs = timeoutMs
    return identityOf(known)
  }

  #create(id: string, timeoutMs: number): Identity {
    const begun: Transaction = {
      id,
      producerId: this.newProducerId(),
      epoch: this.firstEpoch,
      formerProducerId: NONE,
      formerEpoch: NONE,
      next: { producerId: NONE, epoch: NONE },
      state: 'Empty',
      timeoutMs,
      startedAt: 0,
      partitions: new Map(),
      groups: new Set(),
    }
    this.#all.set(id, begun)
    return identityOf(begun)
  }

  addPartition(id: string, producer: Identity, topic: string, partition: number): void {
    this.#open(id, producer).partitions.set(`${topic}-${partition}`, { topic, partition })
  }

  addGroup(id: string, producer: Identity, groupId: string): void {
    this.#open(id, producer).groups.add(groupId)
  }

  /** Throws unless the partition or group is part of the producer's open transaction. */
  verify(id: string, { producerId, epoch }: Identity, isPart: (open: Transaction) => boolean): void {
    const known = this.#all.get(id)
    if (known === undefined || known.producerId !== producerId) throw new Refused('INVALID_PRODUCER_ID_MAPPING')
    if (known.epoch !== epoch) throw new Refused('PRODUCER_FENCED')
    if (isEnding(known)) throw new Refused('CONCURRENT_TRANSACTIONS')
    if (known.state !== 'Ongoing' || !isPart(known)) throw new Refused('TRANSACTION_ABORTABLE')
  }

  /** @returns the identity that the producer has in its next transaction */
  end(id: string, identity: Identity, marker: Marker, version: TransactionVersion): Identity {
    return version === 2 ? this.#endRaising(id, identity, marker) : this.#endKeeping(id, identity, marker)
  }

  /** Ends a transaction of version 1, in which all transactions of a producer have the same epoch. */
  #endKeeping(id: string, { producerId, epoch }: Identity, marker: Marker): Identity {
    const known = this.#all.get(id)
    if (known === undefined || known.producerId !== producerId) throw new Refused('INVALID_PRODUCER_ID_MAPPING')
    if (known.epoch !== epoch) throw new Refused('PRODUCER_FENCED')
    const [preparing, complete] = statesOf(marker)
    if (known.state === complete) return identityOf(known)
    if (known.state === preparing) throw new Refused('CONCURRENT_TRANSACTIONS')
    if (known.state !== 'Ongoing') throw new Refused('INVALID_TXN_STATE')
    known.next = identityOf(known)
    this.#prepare(known, marker)
    return known.next
  }

  /**
   * Ends a transaction of version 2. In this version, the epoch shows whether a request is a retry. A producer may
   * abort an empty transaction, because it does not know whether partitions or groups were added.
   */
  #endRaising(id: string, { producerId, epoch }: Identity, marker: Marker): Identity {
    const known = this.#all.get(id)
    if (known === undefined) throw new Refused('INVALID_PRODUCER_ID_MAPPING')
    if (isEnding(known)) throw new Refused('CONCURRENT_TRANSACTIONS')
    const usedUp = known.formerProducerId === producerId && epoch === LAST_EPOCH && known.epoch === 0
    if (known.producerId !== producerId && !usedUp) throw new Refused('INVALID_PRODUCER_ID_MAPPING')
    const isComplete = known.state === 'CompleteCommit' || known.state === 'CompleteAbort'
    const isRepeated = usedUp || epoch === known.epoch - 1
    if (epoch !== known.epoch && !(isComplete && isRepeated)) throw new Refused('PRODUCER_FENCED')
    if (isRepeated) {
      if (known.state !== statesOf(marker)[1]) throw new Refused('INVALID_TXN_STATE')
      return identityOf(known)
    }
    if (known.state !== 'Ongoing' && marker === 'commit') throw new Refused('INVALID_TXN_STATE')
    this.#raise(known)
    this.#prepare(known, marker)
    return known.next
  }

  #open(id: string, { producerId, epoch }: Identity): Transaction {
    const known = this.#all.get(id)
    if (known === undefined) throw new Refused('INVALID_PRODUCER_ID_MAPPING')
    if (isEnding(known)) throw new Refused('CONCURRENT_TRANSACTIONS')
    if (known.producerId !== producerId) throw new Refused('INVALID_PRODUCER_ID_MAPPING')
    if (known.epoch !== epoch) throw new Refused('PRODUCER_FENCED')
    if (known.state !== 'Ongoing') {
      known.state = 'Ongoing'
      known.startedAt = this.#scheduler.now()
    }
    return known
  }

  /**
   * Raises the epoch and aborts the transaction. The markers carry the new epoch, so they fence the producer in every
   * partition.
   */
  #fence(known: Transaction): void {
    known.formerProducerId = NONE
    known.formerEpoch = this.version === 2 ? known.epoch : NONE
    known.epoch++
    known.next = identityOf(known)
    this.#prepare(known, 'abort')
  }

  #raise(known: Transaction): void {
    const isUsedUp = known.epoch >= LAST_EPOCH
    known.formerProducerId = isUsedUp ? known.producerId : NONE
    known.formerEpoch = known.epoch
    known.epoch++
    known.next = isUsedUp ? { producerId: this.newProducerId(), epoch: 0 } : identityOf(known)
  }

  #prepare(known: Transaction, marker: Marker): void {
    const [preparing, complete] = statesOf(marker)
    known.state = preparing
    const producer = identityOf(known)
    // A transaction without partitions and groups is complete immediately.
    let missing = 1 + known.partitions.size + known.groups.size
    const written = () => {
      if (--missing > 0) return
      known.partitions.clear()
      known.groups.clear()
      known.state = complete
      known.producerId = known.next.producerId
      known.epoch = known.next.epoch
    }
    const later = (write: () => boolean) => {
      this.#scheduler.after(this.#scheduler.between(...MARKER_MS), this.#actor, `marks ${marker} of ${producer.producerId}`, () => {
        if (write()) written()
        else later(write)
      })
    }
    for (const { topic, partition } of known.partitions.values()) later(() => this.#markers.partition(topic, partition, producer, marker))
    for (const groupId of known.groups) {
      later(() => {
        this.#markers.group(groupId, producer, marker)
        return true
      })
    }
    written()
  }

  #checkTimeouts(): void {
    this.#scheduler.after(TIMEOUT_CHECK_MS, this.#actor, 'checks timeouts', () => {
      for (const known of this.ongoing()) if (this.#scheduler.now() - known.startedAt > known.timeoutMs) this.#fence(known)
      this.#checkTimeouts()
    })
  }
}

function isEnding({ state }: Transaction): boolean {
  return state === 'PrepareCommit' || state === 'PrepareAbort'
}

/**
 * Returns true if this is the producer's id, or its former id whose epochs are used up. In the second case, the
 * producer may be retrying its request for a new id.
 */
function isIdOf(known: Transaction, { producerId, epoch }: Identity): boolean {
  return producerId === known.producerId || (producerId === known.formerProducerId && epoch >= LAST_EPOCH)
}

function identityOf({ producerId, epoch }: Identity): Identity {
  return { producerId, epoch }
}

function statesOf(marker: Marker): readonly [TransactionState, TransactionState] {
  return marker === 'commit' ? ['PrepareCommit', 'CompleteCommit'] : ['PrepareAbort', 'CompleteAbort']
}
