import { ensureDevelopmentKey, mintToken } from '../../api/kit/auth/development-key.ts'
import { commandLine, runMain } from '../../scripts/command-line/main.ts'
import { readDevelopmentAuth } from './config.ts'
import declaration from './main.command.ts'

const SECONDS_PER_HOUR = 3_600

/** Prints a development token. */
async function main(): Promise<void> {
  const { sub, scope, name, hours } = commandLine(declaration)
  const { issuer, audience, home } = readDevelopmentAuth()
  const key = await ensureDevelopmentKey(home)
  const token = await mintToken(key, {
    subject: sub,
    scope,
    username: name,
    issuer,
    audience,
    lifetimeSeconds: Math.round(hours * SECONDS_PER_HOUR),
    now: Date.now(),
  })
  process.stdout.write(`${token}\n`)
}

await runMain(main)
