import { commandLine } from '../../scripts/command-line/main.ts'
import { runStreamCommand } from '../session.ts'
import declaration from './main.command.ts'
import { chosenServices, demoServices } from './services.ts'

const MS_PER_SECOND = 1_000

const { services: names, rate, for: forMs = Number.POSITIVE_INFINITY, seed } = commandLine(declaration)

await runStreamCommand(async function demo(session) {
  const services = chosenServices(demoServices, names)
  const startAt = Date.now()
  const options = { rate, seed, startAt, endAt: startAt + forMs }
  const end = Number.isFinite(forMs) ? ` for ${forMs / MS_PER_SECOND} s` : ', until stopped'
  session.say(`playing ${rate} events/s with seed ${seed}${end}: ${services.map(({ name }) => name).join(', ')}`)
  await Promise.all(services.map(({ name, play }) => play({ ...session, say: (line) => session.say(`${name}: ${line}`) }, options)))
})
