import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Component } from '../../../deploy/local/component.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'
import { newClickhouse } from '../../stack/servers.ts'
import { type SupervisedWorker, supervisedWorker } from '../supervised-worker.ts'
import { startWorkerProcess } from '../worker-process.ts'
import type { LinksSystem } from './system.ts'

/**
 * The processes that count the clicks of the links under test: a separate worker, and the ClickHouse server with the
 * table.
 */
export interface Counting {
  readonly clickhouse: Component
  /** Environment variables with which an API finds the table. */
  readonly env: Readonly<Record<string, string>>
  readonly worker: SupervisedWorker
}

/** How long the worker may take to start on a busy machine. */
const READY = { what: 'the worker that counts', timeoutMs: 90_000 }

export async function startCounting({ folder, env: common }: LinksSystem): Promise<Counting> {
  const clickhouse = await newClickhouse(folder.path)
  await clickhouse.start()
  const env = { ...common, CLICKHOUSE_URL: clickhouse.address }
  const home = join(folder.path, 'counting')
  mkdirSync(home)
  const startWorker = () => startWorkerProcess(folder.path, { ...env, MILLRACE_HOME: home, PIPELINES: 'clicks', WORKER_ROLE: 'bulk' })
  const worker = await supervisedWorker(folder, startWorker)
  await waitUntil(() => worker.isReady(), READY)
  return { clickhouse, env, worker }
}
