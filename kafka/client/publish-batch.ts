import { headersOf } from '../record-batch/chunk.ts'
import { readChunks } from '../record-batch/reader.ts'
import { type BatchStamp, BatchWriter } from '../record-batch/writer.ts'
import type { Receipt, RecordHeader, TransportError } from '../transport.ts'

/** Consecutive records that share a receipt and a deadline. A topic's buffered records need one of these per batch, not one each. */
interface Run {
  /** undefined: its fate has been reported already. */
  receipt: Receipt | undefined
  /** Monotonic ms; infinite for a record that may wait for ever. */
  readonly deadline: number
  count: number
}

/** Sizes of everything that one publisher holds. */
export interface Holdings {
  records: number
  bytes: number
}

/** Only read back by `select`, never sent. */
const NO_STAMP = { producerId: -1, producerEpoch: -1, baseSequence: -1, transactional: false }

/** Records of one partition that travel together, with the receipt of each. */
export class PublishBatch {
  readonly writer: BatchWriter
  readonly #holdings: Holdings
  #runs: Run[] = []
  #stamped: Buffer | undefined
  #earliestDeadline = Number.POSITIVE_INFINITY

  constructor(holdings: Holdings, memory?: Buffer) {
    this.writer = new BatchWriter(memory)
    this.#holdings = holdings
    holdings.bytes += this.writer.bytes
  }

  get count(): number {
    return this.writer.count
  }

  get bytes(): number {
    return this.writer.bytes
  }

  /** Monotonic ms, of the records whose fate is not reported yet. */
  get earliestDeadline(): number {
    return this.#earliestDeadline
  }

  /** True when nobody waits for any of its records any more. */
  get isAbandoned(): boolean {
    return this.#runs.every(({ receipt }) => receipt === undefined)
  }

  append(
    receipt: Receipt,
    deadline: number,
    timestamp: number,
    key: Uint8Array | null,
    keyStart: number,
    keyEnd: number,
    value: Uint8Array | null,
    valueStart: number,
    valueEnd: number,
    headers: readonly RecordHeader[] | undefined,
  ): void {
    const before = this.writer.bytes
    this.writer.append(timestamp, key, keyStart, keyEnd, value, valueStart, valueEnd, headers)
    this.#holdings.bytes += this.writer.bytes - before
    this.#holdings.records++
    const last = this.#runs.at(-1)
    if (last !== undefined && last.receipt === receipt && last.deadline === deadline) last.count++
    else this.#runs.push({ receipt, deadline, count: 1 })
    if (deadline < this.#earliestDeadline) this.#earliestDeadline = deadline
  }

  /** The bytes to send. They stay as they are: an old connection may still be reading them when the batch is sent again. */
  stamp(stamp: BatchStamp): Buffer {
    this.#stamped = this.writer.finish(stamp, 'none')
    return this.#stamped
  }

  /** Reports the fate of every record that still has a receipt. The batch is of no more use. */
  settle(error: TransportError | undefined): void {
    for (const run of this.#runs) this.#report(run, error)
    this.#holdings.bytes -= this.writer.bytes
  }

  /** Reports the records that are out of time, and keeps them in the batch: it may have been sent. */
  abandonExpired(now: number, error: () => TransportError): void {
    for (const run of this.#runs) if (run.deadline <= now) this.#report(run, error())
    const waiting = this.#runs.filter(({ receipt }) => receipt !== undefined)
    this.#earliestDeadline = Math.min(Number.POSITIVE_INFINITY, ...waiting.map(({ deadline }) => deadline))
  }

  /**
   * Copies the records from `from` up to `to` that somebody still waits for into a new batch, which has no stamp; undefined when there are
   * none. The caller lets go of this one with `discard` when it has taken all that it wants.
   */
  select(from = 0, to = this.count): PublishBatch | undefined {
    let target: PublishBatch | undefined
    const records = this.#stamped ?? this.writer.finish(NO_STAMP, 'none')
    let index = 0
    const runs = this.#runs.flatMap((run) => Array.from({ length: run.count }, () => run))
    for (const chunk of readChunks({ topic: '', partition: 0, records, from: 0, aborted: null, verifyChecksums: false })) {
      for (let row = 0; row < chunk.count; row++, index++) {
        const { receipt, deadline } = runs[index]
        if (receipt === undefined || index < from || index >= to) continue
        const { buffer, timestamps, keyStart, keyEnd, valueStart, valueEnd } = chunk
        const key = keyStart[row] < 0 ? null : buffer
        const value = valueStart[row] < 0 ? null : buffer
        const headers = headersOf(chunk, row)
        target ??= new PublishBatch(this.#holdings)
        target.append(receipt, deadline, timestamps[row], key, keyStart[row], keyEnd[row], value, valueStart[row], valueEnd[row], headers)
        // Counted twice until this batch is let go: a copy adds no record.
        this.#holdings.records--
      }
    }
    return target
  }

  /** Lets go of the batch after its records were copied; nothing is reported. */
  discard(): void {
    this.#holdings.bytes -= this.writer.bytes
  }

  #report(run: Run, error: TransportError | undefined): void {
    const { receipt } = run
    if (receipt === undefined) return
    run.receipt = undefined
    this.#holdings.records -= run.count
    receipt.settled(run.count, error)
  }
}
