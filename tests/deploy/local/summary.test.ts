import { expect, test } from 'vitest'
import { clickhousePassword } from '../../../deploy/local/clickhouse/password.ts'
import { localConfig } from '../../../deploy/local/config.ts'
import { openHome } from '../../../deploy/local/home.ts'
import { summary } from '../../../deploy/local/summary.ts'
import { guardedFolder } from '../../stack/folder.ts'

const { path } = guardedFolder()
const part = { name: 'api-0', kind: 'api', address: 'http://127.0.0.1:8080', logFile: undefined } as const

test('"What to try" lists suggestions for the services that are running', () => {
  const home = openHome(path)
  const all = summary(localConfig({ API_PORT: '8100' }), home, [part])
  for (const words of ["curl 'http://localhost:8100/v1/trends?woeid=1'", 'a short link', 'a snippet', 'http://localhost:8100/docs'])
    expect(all).toContain(words)
  expect(all).toContain(`curl -u default:${clickhousePassword(home)} 'http://localhost:8123/`)
  const chosen = summary(localConfig({ API_SERVICES: 'snippets, limits' }), home, [part])
  expect(chosen).toContain('a snippet')
  expect(chosen).not.toMatch(/trends|short link/)
})

test('the list of running parts shows no passwords of external servers', () => {
  const given = { name: 'redis', kind: 'redis', address: 'rediss://user:secret@cache:6380', logFile: undefined } as const
  const text = summary(localConfig({ REDIS_URL: given.address }), openHome(path), [given])
  expect(text).toContain('rediss://…@cache:6380')
  expect(text).not.toContain('secret')
})
