import type { StreamSession } from '../../session.ts'
import { readDevelopmentAuth } from '../../token/config.ts'
import { type DemoClient, demoClient, type Reply } from './client.ts'

const RETRY_MS = 2_000

export interface ServedQuestion {
  /** Base URL of the API. */
  readonly url: string
  /** The part of the API that the demo needs, such as `the match feed`. */
  readonly what: string
  /** Epoch ms. */
  readonly endAt: number
  /** Sends a request whose reply shows whether the service runs. */
  ask(client: DemoClient): Promise<Reply>
  /**
   * Returns whether the reply shows that the service can serve the demo. Any other reply with status 404 means that the
   * API does not run the service.
   */
  isServed(reply: Reply): boolean
}

/**
 * Waits until the API can serve the demo, and returns a client. If waiting is useless, reports the reason and returns
 * undefined. Also returns undefined if the demo ends or is stopped first.
 */
export async function servedClient({ say, stopped, pause }: StreamSession, question: ServedQuestion): Promise<DemoClient | undefined> {
  const { url, what, endAt } = question
  const client = await clientFor(url, say)
  let hasSaid = false
  while (client !== undefined && !stopped() && Date.now() < endAt) {
    const reply = await question.ask(client)
    if (question.isServed(reply)) return client
    const refusal = refusalOf(reply.status)
    if (refusal !== undefined) {
      say(`not played: ${refusal}`)
      return undefined
    }
    if (!hasSaid) say(`the API at ${url} is not ready yet (${reply.code || `it does not serve ${what}`}); waiting`)
    hasSaid = true
    await pause(Math.min(RETRY_MS, endAt - Date.now()))
  }
  return undefined

  function refusalOf(status: number): string | undefined {
    if (status === 401) return `the API at ${url} does not accept tokens signed with this machine's development key`
    return status === 404 ? `the API at ${url} does not run ${what}` : undefined
  }
}

async function clientFor(url: string, say: StreamSession['say']): Promise<DemoClient | undefined> {
  try {
    return await demoClient(url, readDevelopmentAuth())
  } catch (error) {
    say(`not played: ${(error as Error).message}`)
    return undefined
  }
}
