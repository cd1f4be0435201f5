import { splitList } from '../../settings/variables.ts'
import { catalogDemo } from './catalog/play.ts'
import { fraudDemo } from './fraud/play.ts'
import { matchesDemo } from './matches/play.ts'
import { recommendationsDemo } from './recommendations/play.ts'
import type { DemoService } from './service.ts'
import { trendsDemo } from './trends/play.ts'

/** All services with a demo stream. */
// biome-ignore format: one line per service
export const demoServices: readonly DemoService[] = [
  trendsDemo,
  matchesDemo,
  fraudDemo,
  catalogDemo,
  recommendationsDemo,
]

/**
 * Returns the services with these names.
 * @param names separated by commas and perhaps spaces; undefined selects all services
 * @throws Error if a service has no demo, or if `names` contains no name
 */
export function chosenServices(all: readonly DemoService[], names: string | undefined): readonly DemoService[] {
  if (names === undefined) return all
  const chosen = new Set(splitList(names))
  if (chosen.size === 0) throw new Error('--services names no service')
  return Array.from(chosen, (name) => {
    const found = all.find((service) => service.name === name)
    if (found === undefined)
      throw new Error(`--services: ${name} has no demo; choose from ${all.map((service) => service.name).join(', ')}`)
    return found
  })
}
