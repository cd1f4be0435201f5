import { waitUntil } from '../../deploy/local/wait.ts'
import type { ApiProcess } from '../api/api-process.ts'

/** How soon the services must recover and process all records, even on a busy machine. */
export const RECOVERED = { timeoutMs: 120_000, intervalMs: 50 }

type Workers = readonly { isReady(): Promise<boolean> }[]

/** Waits until all processes are ready. */
export async function ready(apis: readonly ApiProcess[], workers: Workers): Promise<void> {
  for (const worker of workers) await waitUntil(() => worker.isReady(), { what: 'the worker', ...RECOVERED })
  for (const api of apis) {
    const givenUp = () => (api.child.exitCode === null ? undefined : `it ended by itself: ${api.failure()}`)
    await waitUntil(() => hasAllViews(api), { what: 'the API', ...RECOVERED, givenUp })
  }
}

/** An API stays ready while a view is built again, for example because Redis was emptied. */
async function hasAllViews({ url }: ApiProcess): Promise<boolean> {
  const response = await fetch(`${url}/readyz`)
  const { degraded } = (await response.json()) as { degraded?: readonly { name: string }[] }
  return response.ok && degraded?.some(({ name }) => name.startsWith('view ')) !== true
}

/** Waits until all processes are ready and no API has unsent records. */
export async function recover(apis: readonly ApiProcess[], workers: Workers): Promise<void> {
  await ready(apis, workers)
  for (const api of apis) {
    const isEmpty = async () => /^spool_records 0$/m.test(await (await fetch(`${api.operationsUrl}/metrics`)).text())
    await waitUntil(isEmpty, { what: 'an empty spool', ...RECOVERED })
  }
}
