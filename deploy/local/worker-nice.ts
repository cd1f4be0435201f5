/**
 * Nice values of workers that share a machine with APIs and brokers. While all cores are busy, requests have priority:
 * at 1,000 swipes/s on two cores P99 falls from 320-770 to 125-210 ms. Deciding workers come before bulk ones, because
 * callers wait for decisions.
 */
export const WORKER_NICE = { deciding: 5, bulk: 10 } as const
