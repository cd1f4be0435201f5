/** Where a transaction took place, in degrees. */
export interface FraudPlace {
  readonly lat: number
  readonly lng: number
}

/** The part of a transaction that profiles need. hash.ts computes the hashes. */
export interface FraudEvent {
  /** Hash of the transaction_id, 48 bits. */
  readonly id: number
  /** Epoch ms. */
  readonly at: number
  /** Amount in 1/10,000 USD. */
  readonly units: number
  readonly place: FraudPlace | null
  /**
   * 32-bit hash of the user's id; null if the profile does not need it. The same applies to the entities below, which
   * are also null if the transaction does not name them.
   */
  readonly user: number | null
  readonly device: number | null
  readonly ip: number | null
  readonly card: number | null
  readonly merchant: number | null
  /** The user's id, for profiles that list their users; null for all others. */
  readonly user_id: string | null
}
