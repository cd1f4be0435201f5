/** The identity by which a request is counted. */
export interface LimitedCaller {
  /** The client of the API key, or `user:<id>`, `certificate:<name>` or `ip:<address>`. */
  readonly clientId: string
  readonly tier: string
  /** Identifies the API key without revealing it. */
  readonly apiKeyId?: string
  readonly userId?: string
  /** The name in the client certificate that the route accepted. */
  readonly certificate?: string
  /** The address in the form of `limitedAddress`. */
  readonly ip: string
}
