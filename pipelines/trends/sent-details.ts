import type { TrendCandidate } from './candidate.ts'
import type { Looks } from './looks.ts'
import type { RegionReport, ReportHead, ReportReference, reportWriter } from './region-report.ts'
import { RENEWAL_MS } from './time.ts'

/**
 * Number of renewals after which unchanged details are sent again, so that the third stage need not keep old reports
 * for a single term. Terms wait up to `FURTHER_RENEWALS` longer, so that they are not all due at once.
 */
const LEAST_RENEWALS = 10
const FURTHER_RENEWALS = 10

/**
 * Maximum total size of the kept reports, as a multiple of the size of the details that are still valid. If the reports
 * are larger, the details in the oldest reports are sent again. Without this limit, many reports with mostly outdated
 * details would be kept for a few unchanged candidates while the other candidates of the region change all the time.
 */
const MOST_KEPT = 3
/** This many bytes are added to that maximum, so that small reports are always kept. */
const LEAST_KEPT_BYTES = 4_096

/**
 * What is reported about a region: the numbers of the terms in the order of the report, their evaluations, and the
 * candidates whose details are sent.
 */
export interface Reported {
  readonly terms: readonly number[]
  readonly looks: Looks
  readonly candidates: ReadonlyMap<number, TrendCandidate>
}

interface KeptReport {
  readonly reference: ReportReference
  readonly bytes: number
}

/** Keeps track of the reports of a partition about a region to whose details later reports may refer. */
export class SentDetails {
  /**
   * End of the earliest window to whose report the next report may refer. The third stage deletes all reports that are
   * older than the oldest report to which the last report referred.
   */
  #oldest = 0
  /** The reports that the third stage keeps, oldest first. */
  #kept: KeptReport[] = []

  /** Returns true if the details of a term must be sent (again). */
  isDue(looks: Looks, term: number, windowEnd: number): boolean {
    const sentIn = looks.sentIn(term)
    return sentIn === 0 || sentIn * RENEWAL_MS < this.#oldest || windowEnd > looks.sentUntil(term) * RENEWAL_MS
  }

  /** Writes the next report. Each term whose details are due must have an entry in `candidates`. */
  write({ terms, looks, candidates }: Reported, head: ReportHead, writer: ReturnType<typeof reportWriter>): RegionReport {
    const { windowEnd } = head
    const renewal = windowEnd / RENEWAL_MS
    let renewals = LEAST_RENEWALS
    let valid = 0
    for (const term of terms) {
      const candidate = candidates.get(term)
      const baseline = looks.baselineOf(term)
      if (candidate === undefined) {
        writer.addSent(this.#referenceOf(looks.sentIn(term)), looks.sentAt(term), looks.countOf(term), baseline, looks.isTracked(term))
      } else {
        const at = writer.detailsBytes
        writer.addNew(candidate, looks.countOf(term), baseline, looks.isTracked(term))
        looks.wasSent(term, { in: renewal, at, bytes: writer.detailsBytes - at, until: renewal + renewals })
        renewals = renewals === LEAST_RENEWALS + FURTHER_RENEWALS ? LEAST_RENEWALS : renewals + 1
      }
      valid += looks.sentBytes(term)
    }
    const report = writer.finish(head)
    this.#keep(report, valid)
    return report
  }

  #referenceOf(renewal: number): ReportReference {
    const kept = this.#kept.find(({ reference }) => reference.windowEnd === renewal * RENEWAL_MS)
    if (kept === undefined) throw new Error('the details of a term are not due, but no kept report contains them')
    return kept.reference
  }

  /** @param valid total size of the details of all candidates in the report, in bytes */
  #keep(report: RegionReport, valid: number): void {
    const { windowEnd, id, oldest, start, end } = report
    const kept = [...this.#kept, { reference: { windowEnd, id }, bytes: end - start }].filter(
      ({ reference }) => reference.windowEnd >= oldest,
    )
    this.#kept = kept
    this.#oldest = oldest
    let bytes = kept.reduce((sum, each) => sum + each.bytes, 0)
    for (let i = 1; i < kept.length && bytes > MOST_KEPT * valid + LEAST_KEPT_BYTES; i++) {
      bytes -= kept[i - 1].bytes
      this.#oldest = kept[i].reference.windowEnd
    }
  }
}
