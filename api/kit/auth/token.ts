import { parseArgs } from 'node:util'
import { readDevelopmentAuth } from '../../config.ts'
import { ensureDevelopmentKey, mintToken } from './development-key.ts'

const USAGE = `npm run token -- --sub 42 [--scope "admin internal"] [--name alice] [--hours 12]
Prints a token that the local API accepts. Use it as: curl -H "Authorization: Bearer $(npm run --silent token -- --sub 42)" …
`
const DEFAULT_HOURS = '12'
const SECONDS_PER_HOUR = 3_600

/** Prints a development token. */
async function main(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      sub: { type: 'string' },
      scope: { type: 'string' },
      name: { type: 'string' },
      hours: { type: 'string', default: DEFAULT_HOURS },
    },
  })
  const hours = Number(values.hours)
  if (values.sub === undefined) throw new Error('--sub is missing: the user id that the token is for')
  if (!(hours > 0)) throw new Error('--hours must be a positive number')
  const { issuer, audience, home } = readDevelopmentAuth()
  const key = await ensureDevelopmentKey(home)
  const token = await mintToken(key, {
    subject: values.sub,
    scope: values.scope,
    username: values.name,
    issuer,
    audience,
    lifetimeSeconds: Math.round(hours * SECONDS_PER_HOUR),
    now: Date.now(),
  })
  process.stdout.write(`${token}\n`)
}

try {
  await main(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n${USAGE}`)
  process.exitCode = 1
}
