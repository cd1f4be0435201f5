import type { FraudIpFacts, FraudRequest } from '../../../schemas/fraud/types.ts'
import type { MatrixFile } from '../matrix.ts'
import { profileReplay } from '../profile-replay.ts'
import type { LabelledPayment } from './payments.ts'

/** What a payment is used for in the evaluation, as a number that the Python program reads. */
export const PART = { none: 0, train: 1, test: 2 } as const

/** The periods of a replay. All times are in epoch ms, and ends are exclusive. */
export interface Periods {
  readonly trainFrom: number
  readonly trainTo: number
  readonly testFrom: number
  readonly testTo: number
  readonly labelDelayMs: number
}

export interface Replayed {
  readonly parts: Uint8Array
  readonly scenarios: Uint8Array
}

const NO_IP_FACTS: FraudIpFacts = { geo_country: null, is_vpn: null, is_tor: null, is_datacenter: null }

/**
 * Writes the inputs of the payments of both periods into the matrix, in chronological order. Returns what each of them
 * is used for, and its scenario. Frauds become known after a delay, as if an analyst confirmed them. Payments whose
 * labels are still unknown when the test begins are not used for training.
 */
export async function replayPayments(payments: AsyncIterable<LabelledPayment>, periods: Periods, matrix: MatrixFile): Promise<Replayed> {
  const { trainFrom, testFrom, testTo, labelDelayMs } = periods
  const trainTo = Math.min(periods.trainTo, testFrom - labelDelayMs)
  const profiles = profileReplay()
  const parts: number[] = []
  const scenarios: number[] = []
  const frauds: FraudRequest[] = []
  let known = 0
  for await (const { request, isFraud, scenario } of payments) {
    const { timestamp } = request
    if (timestamp >= testTo) break
    for (; known < frauds.length && frauds[known].timestamp + labelDelayMs <= timestamp; known++) {
      profiles.confirmFraud(frauds[known], frauds[known].timestamp + labelDelayMs)
    }
    const input = profiles.next(request, NO_IP_FACTS)
    if (isFraud) frauds.push(request)
    const part = partOf(timestamp)
    if (part === PART.none) continue
    matrix.add(input)
    parts.push(part)
    // A file that does not distinguish kinds of fraud may have no number for a fraud, or 0, which marks legitimate
    // payments. Every fraud therefore gets at least the number 1.
    scenarios.push(isFraud ? Math.max(1, scenario) : 0)
  }
  return { parts: Uint8Array.from(parts), scenarios: Uint8Array.from(scenarios) }

  function partOf(timestamp: number): number {
    if (timestamp >= testFrom) return PART.test
    return timestamp >= trainFrom && timestamp < trainTo ? PART.train : PART.none
  }
}
