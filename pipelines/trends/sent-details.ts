import type { TrendCandidate } from './candidate.ts'
import type { RegionReport, ReportedCounts, ReportHead, ReportReference, reportWriter } from './region-report.ts'
import { RENEWAL_MS } from './time.ts'

/**
 * Number of renewals after which unchanged details are sent again, so that the third stage need not keep old reports
 * for a single term. Different terms are due after different numbers.
 */
const LEAST_RENEWALS = 10
const FURTHER_RENEWALS = 10

/** A candidate as it was sent. */
export interface Details extends ReportedCounts {
  /** The whole candidate; undefined after it was sent. */
  candidate: TrendCandidate | undefined
  /** True if the candidate has its drawn tweets. */
  hasDrawn: boolean
  /** The report with the details. */
  sentIn: ReportReference | undefined
  sentAt: number
  /** The end of the last window for which the report may be referred to. */
  sentUntil: number
}

export const NOT_SENT: Pick<Details, 'sentIn' | 'sentAt' | 'sentUntil'> = { sentIn: undefined, sentAt: 0, sentUntil: 0 }

/** What the reports of a partition about a region have said, as long as later reports may refer to them. */
export interface SentDetails {
  /** Returns true if the details of a candidate must be sent (again). */
  isDue(details: Details, windowEnd: number): boolean
  /** Writes the next report. @param candidates best first; those whose details are due are whole */
  write(candidates: readonly Details[], head: ReportHead, writer: ReturnType<typeof reportWriter>): RegionReport
}

export function sentDetails(): SentDetails {
  /**
   * The end of the earliest window whose report the last report referred to. The third stage forgets earlier reports.
   */
  let oldest = 0

  function isDue({ sentIn, sentUntil }: Details, windowEnd: number): boolean {
    return sentIn === undefined || sentIn.windowEnd < oldest || windowEnd > sentUntil
  }

  return {
    isDue,
    write(candidates, head, writer) {
      const { windowEnd } = head
      const added: Details[] = []
      let renewals = LEAST_RENEWALS
      for (const details of candidates) {
        const { candidate, sentIn, sentAt } = details
        if (sentIn !== undefined && candidate === undefined) {
          writer.addSent(sentIn, sentAt, details)
          continue
        }
        if (candidate === undefined) throw new Error('a candidate that was never sent must be whole')
        details.sentAt = writer.addNew(candidate, details)
        details.candidate = undefined
        details.sentUntil = windowEnd + renewals * RENEWAL_MS
        renewals = renewals === LEAST_RENEWALS + FURTHER_RENEWALS ? LEAST_RENEWALS : renewals + 1
        added.push(details)
      }
      const report = writer.finish(head)
      const reference = { windowEnd, id: report.id }
      for (const details of added) details.sentIn = reference
      oldest = report.oldest
      return report
    },
  }
}
