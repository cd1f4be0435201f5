import { headersOf } from '../record-batch/chunk.ts'
import { readChunks } from '../record-batch/reader.ts'
import { type BatchStamp, BatchWriter, NO_STAMP } from '../record-batch/writer.ts'
import type { Receipt, RecordFields, TransportError } from '../transport.ts'

/**
 * A run of consecutive records that share a receipt and a deadline. A batch keeps one entry per run, so it often needs
 * only one entry for all of its records.
 */
interface Run {
  /** The receipt of the records; undefined when the outcome has already been reported. */
  receipt: Receipt | undefined
  /** Monotonic time (ms) at which the records expire; infinite for records without a time limit. */
  readonly deadline: number
  count: number
}

/** Number of records in one publisher whose outcome is not reported yet, and size of the batches in bytes. */
export interface Holdings {
  records: number
  bytes: number
}

/** Records of one partition that are sent together, with their receipts. */
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

  /** The earliest deadline (monotonic ms) of the records whose outcome is not reported yet. */
  get earliestDeadline(): number {
    return this.#earliestDeadline
  }

  /** True when the outcomes of all records have been reported. */
  get isAbandoned(): boolean {
    return this.#runs.every(({ receipt }) => receipt === undefined)
  }

  append(receipt: Receipt, deadline: number, ...record: RecordFields): void {
    const before = this.writer.bytes
    this.writer.append(...record)
    this.#holdings.bytes += this.writer.bytes - before
    this.#holdings.records++
    const last = this.#runs.at(-1)
    if (last !== undefined && last.receipt === receipt && last.deadline === deadline) last.count++
    else this.#runs.push({ receipt, deadline, count: 1 })
    if (deadline < this.#earliestDeadline) this.#earliestDeadline = deadline
  }

  /**
   * Writes the stamp into the batch, and returns the bytes to send. The bytes must not change, because an old
   * connection may still read them while the batch is sent again.
   */
  stamp(stamp: BatchStamp): Buffer {
    this.#stamped = this.writer.finish(stamp, 'none')
    return this.#stamped
  }

  /**
   * Reports the outcome to every receipt that is still waiting. Afterwards, the batch must not be used, except to
   * release the memory of its writer.
   * @param error undefined when the broker has acknowledged the batch
   */
  settle(error: TransportError | undefined): void {
    for (const run of this.#runs) this.#report(run, error)
    this.#holdings.bytes -= this.writer.bytes
  }

  /**
   * Reports the expired records as failed, but keeps them in the batch, because the batch may already have been sent.
   */
  abandonExpired(now: number, error: () => TransportError): void {
    for (const run of this.#runs) if (run.deadline <= now) this.#report(run, error())
    const waiting = this.#runs.filter(({ receipt }) => receipt !== undefined)
    this.#earliestDeadline = Math.min(Number.POSITIVE_INFINITY, ...waiting.map(({ deadline }) => deadline))
  }

  /**
   * Copies the records in [`from`, `to`) whose outcome is not reported yet into a new, unstamped batch. Returns
   * undefined when there are none. The caller must `discard` the original batch when it has copied all that it needs.
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
        // `append` has counted the record a second time. `discard` corrects only the number of bytes.
        this.#holdings.records--
      }
    }
    return target
  }

  /** Stops counting the bytes of the batch, without reporting an outcome. The batch must not be used afterwards. */
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
