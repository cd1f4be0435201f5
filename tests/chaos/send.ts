/** Time limit of a request. It is longer than any fault, so that the responses of a suspended API still arrive. */
const TIMEOUT_MS = 12_000

export interface Sent {
  readonly method: string
  readonly token: string
  readonly body?: unknown
  /** Value of the header Idempotency-Key. */
  readonly key?: string
}

export interface CameBack {
  /** Status of the response, or 0 if the connection failed or no response arrived in time. */
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: response bodies of any route
  readonly body: any
}

/** Sends a request and waits for the response. Never throws. */
export async function send(url: string, { method, token, body, key }: Sent): Promise<CameBack> {
  try {
    const response = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  } catch (error) {
    return { status: 0, body: (error as Error).message }
  }
}
