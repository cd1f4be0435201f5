import type { Transport } from '../../kafka/transport.ts'

/** The leader epoch of all fetched data. */
export const EPOCH = 7

/**
 * Wraps a transport, so that all data comes from a leader of one epoch.
 * @param assigned receives the leader epoch that each call of `assign` names, or undefined if the call names none
 */
export function inEpoch(inner: Transport, assigned: (number | undefined)[]): Transport {
  return {
    ...inner,
    fetcher(options) {
      const fetcher = inner.fetcher(options)
      return {
        ...fetcher,
        assign(partition, offset, reset, leaderEpoch) {
          assigned.push(leaderEpoch)
          fetcher.assign(partition, offset, reset)
        },
        poll: async (ms, maxBytes) => (await fetcher.poll(ms, maxBytes)).map((data) => ({ ...data, leaderEpoch: EPOCH })),
      }
    },
  }
}
