/** The identity that a request is counted under. */
export interface LimitedCaller {
  /** The client of the API key, or `user:<id>`, `certificate:<name>` or `ip:<address>`. */
  readonly clientId: string
  readonly tier: string
  /** Identifies the API key without revealing it. */
  readonly apiKeyId?: string
  readonly userId?: string
  /** The name in the client certificate that the route accepted. */
  readonly certificate?: string
  /** The address as `limitedAddress` formats it. */
  readonly ip: string
}
