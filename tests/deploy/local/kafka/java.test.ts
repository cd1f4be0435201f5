import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { brokerCommand } from '../../../../deploy/local/kafka/java.ts'

test("a broker's temporary files are in its data folder, so that a killed broker leaves none in /tmp", () => {
  const { args } = brokerCommand({ jars: '/jars', properties: '/data/server.properties', logFile: '/log', heapMb: 64 })
  expect(args).toContain('-Djava.io.tmpdir=/data')
})

test('Java runs in a UTF-8 locale, so that it finds files below a folder with accented letters', () => {
  const { command, env } = brokerCommand({ jars: '/jars', properties: '/data/server.properties', logFile: '/log', heapMb: 64 })
  const java = spawnSync(command, ['-XshowSettings:properties', '-version'], { env: { ...env, LANG: 'C' }, encoding: 'utf8' })
  expect(java.stderr).toMatch(/sun\.jnu\.encoding = UTF-8/)
})
