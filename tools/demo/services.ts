import type { DemoService } from './service.ts'
import { trendsDemo } from './trends/play.ts'

/** Every service that has a stream to show: one line per service. */
// biome-ignore format: one line per service
export const demoServices: readonly DemoService[] = [
  trendsDemo,
]
