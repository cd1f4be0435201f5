import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findChildren, startChild } from '../../../deploy/local/child.ts'
import { ownServers } from '../../../deploy/local/chosen-servers.ts'
import { localConfig } from '../../../deploy/local/config.ts'
import { stopLeftovers } from '../../../deploy/local/leftovers.ts'
import { guardedFolder } from '../../stack/folder.ts'

test('processes that a killed start left running are stopped, except for servers that the new start uses', async () => {
  const { path } = guardedFolder()
  const runDir = join(path, 'run')
  for (const name of ['kafka', 'redis', 'search', 'worker-0']) {
    await startChild({ name, command: 'sleep', args: ['1000000'], cwd: path, logFile: join(path, 'log'), runDir })
  }
  const config = localConfig({ API_SERVICES: 'links', PIPELINES: 'links', REDIS_URL: 'redis://127.0.0.1:1' })
  await stopLeftovers({ run: runDir }, ownServers(config))
  const left = findChildren(runDir)
  expect(left.map(({ name }) => name)).toEqual(['kafka'])
  await left[0].kill()
})

test('the local stack includes the search server only if a service needs it', () => {
  expect(ownServers(localConfig({}))).toContain('search')
  expect(ownServers(localConfig({ API_SERVICES: 'links', PIPELINES: 'links' }))).toEqual(['kafka', 'redis', 'clickhouse', 'registry'])
})
