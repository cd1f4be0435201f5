import type { Actor, Scheduler } from '../scheduler.ts'
import { Refused } from './errors.ts'

/** How long the coordinator takes to write the markers of a transaction, ms. */
const MARKER_MS = [0.5, 12] as const
/** How often it looks for transactions that have timed out, ms. */
const TIMEOUT_CHECK_MS = 1_000

export type TransactionState = 'Empty' | 'Ongoing' | 'PrepareCommit' | 'PrepareAbort' | 'CompleteCommit' | 'CompleteAbort'

export interface Transaction {
  readonly id: string
  readonly producerId: number
  epoch: number
  /** The epoch that the producer raised last, so that it may repeat the request. */
  raisedFrom: number | undefined
  state: TransactionState
  timeoutMs: number
  startedAt: number
  readonly partitions: Map<string, { readonly topic: string; readonly partition: number }>
  readonly groups: Set<string>
}

/** Writes the end of a transaction where its records and offsets are. */
export interface Markers {
  partition(topic: string, partition: number, producerId: number, epoch: number, marker: 'commit' | 'abort'): void
  group(groupId: string, producerId: number, marker: 'commit' | 'abort'): void
}

/** The coordinator of all transactions, in version 1 of the protocol. Its state survives every broker. */
export class Transactions {
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

  /** Begins a new epoch. An open transaction is aborted first, and the caller has to ask again. */
  init(id: string, timeoutMs: number, producerId: number, epoch: number): Transaction {
    const known = this.#all.get(id)
    if (known === undefined) {
      const state = {
        id,
        producerId: this.newProducerId(),
        epoch: 0,
        raisedFrom: undefined,
        state: 'Empty' as const,
        timeoutMs,
        startedAt: 0,
      }
      const begun: Transaction = { ...state, partitions: new Map(), groups: new Set() }
      this.#all.set(id, begun)
      return begun
    }
    if (producerId >= 0) {
      if (producerId === known.producerId && epoch === known.raisedFrom) return known
      if (producerId !== known.producerId || epoch !== known.epoch) throw new Refused('PRODUCER_FENCED')
    }
    if (known.state === 'Ongoing') {
      this.#fence(known)
      throw new Refused('CONCURRENT_TRANSACTIONS')
    }
    if (known.state === 'PrepareCommit' || known.state === 'PrepareAbort') throw new Refused('CONCURRENT_TRANSACTIONS')
    known.raisedFrom = producerId >= 0 ? known.epoch : undefined
    known.epoch++
    known.state = 'Empty'
    known.timeoutMs = timeoutMs
    return known
  }

  addPartition(id: string, producerId: number, epoch: number, topic: string, partition: number): void {
    this.#open(id, producerId, epoch).partitions.set(`${topic}-${partition}`, { topic, partition })
  }

  addGroup(id: string, producerId: number, epoch: number, groupId: string): void {
    this.#open(id, producerId, epoch).groups.add(groupId)
  }

  /** Throws unless the partition is part of the producer's open transaction (KIP-890). */
  verify(id: string | null, producerId: number, epoch: number, isPart: (open: Transaction) => boolean): void {
    const known = this.#all.get(id ?? '')
    if (known === undefined || known.producerId !== producerId) throw new Refused('INVALID_PRODUCER_ID_MAPPING')
    if (known.epoch !== epoch) throw new Refused('INVALID_PRODUCER_EPOCH')
    if (known.state !== 'Ongoing' || !isPart(known)) throw new Refused('INVALID_TXN_STATE')
  }

  end(id: string, producerId: number, epoch: number, marker: 'commit' | 'abort'): void {
    const known = this.#of(id, producerId, epoch)
    const [preparing, complete] = marker === 'commit' ? ['PrepareCommit', 'CompleteCommit'] : ['PrepareAbort', 'CompleteAbort']
    if (known.state === complete) return
    if (known.state === preparing) throw new Refused('CONCURRENT_TRANSACTIONS')
    if (known.state !== 'Ongoing') throw new Refused('INVALID_TXN_STATE')
    this.#prepare(known, marker)
  }

  #of(id: string, producerId: number, epoch: number): Transaction {
    const known = this.#all.get(id)
    if (known === undefined || known.producerId !== producerId) throw new Refused('INVALID_PRODUCER_ID_MAPPING')
    if (known.epoch !== epoch) throw new Refused('PRODUCER_FENCED')
    return known
  }

  #open(id: string, producerId: number, epoch: number): Transaction {
    const known = this.#of(id, producerId, epoch)
    if (known.state === 'PrepareCommit' || known.state === 'PrepareAbort') throw new Refused('CONCURRENT_TRANSACTIONS')
    if (known.state !== 'Ongoing') {
      known.state = 'Ongoing'
      known.startedAt = this.#scheduler.now()
    }
    return known
  }

  /** The raised epoch in the markers fences the producer in every partition. */
  #fence(known: Transaction): void {
    known.raisedFrom = undefined
    known.epoch++
    this.#prepare(known, 'abort')
  }

  #prepare(known: Transaction, marker: 'commit' | 'abort'): void {
    known.state = marker === 'commit' ? 'PrepareCommit' : 'PrepareAbort'
    const { producerId, epoch } = known
    let missing = known.partitions.size + known.groups.size
    const later = (write: () => void) => {
      this.#scheduler.after(this.#scheduler.between(...MARKER_MS), this.#actor, `marks ${marker} of ${producerId}`, () => {
        write()
        if (--missing > 0) return
        known.partitions.clear()
        known.groups.clear()
        known.state = marker === 'commit' ? 'CompleteCommit' : 'CompleteAbort'
      })
    }
    for (const { topic, partition } of known.partitions.values())
      later(() => this.#markers.partition(topic, partition, producerId, epoch, marker))
    for (const groupId of known.groups) later(() => this.#markers.group(groupId, producerId, marker))
  }

  #checkTimeouts(): void {
    this.#scheduler.after(TIMEOUT_CHECK_MS, this.#actor, 'checks timeouts', () => {
      for (const known of this.ongoing()) if (this.#scheduler.now() - known.startedAt > known.timeoutMs) this.#fence(known)
      this.#checkTimeouts()
    })
  }
}
