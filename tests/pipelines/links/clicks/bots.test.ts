import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { confusionMatrix, readUserAgents } from '../../../../bench/clicks/bots.ts'
import { userAgentReader } from '../../../../pipelines/links/clicks/user-agent.ts'
import { dataFolder } from '../../../../scripts/config.ts'

function userAgentFolder(): string | undefined {
  try {
    const folder = join(dataFolder(), 'user-agents')
    return existsSync(folder) ? folder : undefined
  } catch {
    return undefined
  }
}

const folder = userAgentFolder()
if (folder === undefined) process.stderr.write('bots.test.ts: no user agents found (set MILLRACE_DATA): skipped\n')

test.skipIf(folder === undefined)('crawlers are known as bots and browsers are not', () => {
  const userAgents = readUserAgents(folder as string, readFileSync)
  const matrix = confusionMatrix(userAgents)
  expect(userAgents.crawlers.length).toBeGreaterThan(2_000)
  expect(matrix.caught / userAgents.crawlers.length).toBeGreaterThan(0.995)
  expect(matrix.wronglyCaught).toBe(0)
})

test.skipIf(folder === undefined)('browsers have a family, and the device that they were recorded on', () => {
  const { browsers } = readUserAgents(folder as string, readFileSync)
  const read = userAgentReader()
  const facts = browsers.map(({ userAgent, deviceCategory }) => ({ ...read(userAgent), deviceCategory }))
  expect(facts.filter(({ browser }) => browser === 'unknown').length / browsers.length).toBeLessThan(0.01)
  expect(facts.filter(({ device, deviceCategory }) => device === deviceCategory).length / browsers.length).toBeGreaterThan(0.995)
})
