/** A system under test that keeps stock. */
export interface Subject {
  /** Reserves one unit. @returns the id of the reservation, or undefined if the request failed */
  reserve(variant: number): Promise<string | undefined>
  /** Ends a reservation of one unit. @returns whether the request succeeded */
  end(variant: number, reservationId: string, how: 'DEDUCT' | 'RELEASE'): Promise<boolean>
}

/** One operation of a measurement. */
export interface Operation {
  readonly kind: 'RESERVE' | 'DEDUCT' | 'RELEASE'
  /**
   * Duration in ms, measured from when the operation was due, so that a late load generator does not improve the
   * result.
   */
  readonly ms: number
  readonly succeeded: boolean
}
