import type { TrendCandidate } from './candidate.ts'
import type { RegionReport, ReportedCounts, ReportHead, ReportReference, reportWriter } from './region-report.ts'
import { RENEWAL_MS } from './time.ts'

/**
 * Number of renewals after which unchanged details are sent again, so that the third stage need not keep old reports
 * for a single term. Different terms are due after different numbers.
 */
const LEAST_RENEWALS = 10
const FURTHER_RENEWALS = 10

/**
 * Maximum size of the kept reports, as a multiple of the size of the details that are still valid. If the reports are
 * larger, the details in the oldest reports are sent again. In a region whose candidates change all the time, a few
 * that do not change would otherwise keep many reports of outdated details.
 */
const MOST_KEPT = 3
/** Reports with a smaller total size are kept in any case. */
const LEAST_KEPT_BYTES = 4_096

/** A candidate as it was sent. */
export interface Details extends ReportedCounts {
  /** The whole candidate; undefined after it was sent. */
  candidate: TrendCandidate | undefined
  /** True if the candidate has its drawn tweets. */
  hasDrawn: boolean
  /** The report with the details. */
  sentIn: ReportReference | undefined
  sentAt: number
  sentBytes: number
  /** The end of the last window for which the report may be referred to. */
  sentUntil: number
}

export const NOT_SENT: Pick<Details, 'sentIn' | 'sentAt' | 'sentBytes' | 'sentUntil'> = {
  sentIn: undefined,
  sentAt: 0,
  sentBytes: 0,
  sentUntil: 0,
}

/** The contents of a partition's reports about a region, as long as later reports may refer to them. */
export interface SentDetails {
  /** Returns true if the details of a candidate must be sent (again). */
  isDue(details: Details, windowEnd: number): boolean
  /** Writes the next report. @param candidates best first; a candidate whose details are due must be whole */
  write(candidates: readonly Details[], head: ReportHead, writer: ReturnType<typeof reportWriter>): RegionReport
}

export function sentDetails(): SentDetails {
  /**
   * The end of the earliest window to whose report the next report may refer. The third stage forgets reports that are
   * older than any that the last report referred to.
   */
  let oldest = 0
  /** The reports that the third stage keeps, oldest first. */
  const kept: { readonly windowEnd: number; readonly bytes: number }[] = []

  function isDue({ sentIn, sentUntil }: Details, windowEnd: number): boolean {
    return sentIn === undefined || sentIn.windowEnd < oldest || windowEnd > sentUntil
  }

  /** @param valid the bytes of the details of all candidates of the report */
  function keep(report: RegionReport, valid: number): void {
    kept.push({ windowEnd: report.windowEnd, bytes: report.end - report.start })
    oldest = report.oldest
    while (kept[0].windowEnd < oldest) kept.shift()
    let bytes = kept.reduce((sum, each) => sum + each.bytes, 0)
    for (let i = 1; i < kept.length && bytes > MOST_KEPT * valid + LEAST_KEPT_BYTES; i++) {
      bytes -= kept[i - 1].bytes
      oldest = kept[i].windowEnd
    }
  }

  return {
    isDue,
    write(candidates, head, writer) {
      const { windowEnd } = head
      const added: Details[] = []
      let renewals = LEAST_RENEWALS
      let valid = 0
      for (const details of candidates) {
        const { candidate, sentIn, sentAt } = details
        if (sentIn !== undefined && candidate === undefined) {
          writer.addSent(sentIn, sentAt, details)
          valid += details.sentBytes
          continue
        }
        if (candidate === undefined) throw new Error('a candidate that was never sent must be whole')
        details.sentAt = writer.detailsBytes
        writer.addNew(candidate, details)
        details.sentBytes = writer.detailsBytes - details.sentAt
        valid += details.sentBytes
        details.candidate = undefined
        details.sentUntil = windowEnd + renewals * RENEWAL_MS
        renewals = renewals === LEAST_RENEWALS + FURTHER_RENEWALS ? LEAST_RENEWALS : renewals + 1
        added.push(details)
      }
      const report = writer.finish(head)
      const reference = { windowEnd, id: report.id }
      for (const details of added) details.sentIn = reference
      keep(report, valid)
      return report
    },
  }
}
