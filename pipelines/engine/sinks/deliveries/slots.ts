/**
 * Share of the slots that retries may use, so that records that keep failing do not delay records that have never
 * failed.
 */
const RETRY_SHARE = 0.25

/** Limits the number of deliveries that run at the same time in one process, over all partitions of a sink. */
export interface DeliverySlots {
  readonly running: number
  hasRoom(isRetry: boolean): boolean
  /** Takes a slot. @returns false if none is free; the sink's loop tries again when a delivery has ended */
  take(isRetry: boolean): boolean
  release(isRetry: boolean): void
}

export function deliverySlots(limit: number): DeliverySlots {
  const retryLimit = Math.max(1, Math.floor(limit * RETRY_SHARE))
  let fresh = 0
  let retries = 0

  function hasRoom(isRetry: boolean): boolean {
    return fresh + retries < limit && !(isRetry && retries >= retryLimit)
  }

  return {
    hasRoom,
    get running() {
      return fresh + retries
    },
    take(isRetry) {
      if (!hasRoom(isRetry)) return false
      if (isRetry) retries++
      else fresh++
      return true
    },
    release(isRetry) {
      if (isRetry) retries--
      else fresh--
    },
  }
}
