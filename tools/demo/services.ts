import type { DemoService } from './service.ts'
import { trendsDemo } from './trends/play.ts'

/** All services with a demo stream. */
// biome-ignore format: one line per service
export const demoServices: readonly DemoService[] = [
  trendsDemo,
]
