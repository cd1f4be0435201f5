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
  /** 32-bit hash of the user's id, like the hashes of the entities below; null if the profile does not need it. */
  readonly user: number | null
  readonly device: number | null
  readonly ip: number | null
  readonly card: number | null
  readonly merchant: number | null
  /** For profiles that list their users. */
  readonly user_id: string | null
}
