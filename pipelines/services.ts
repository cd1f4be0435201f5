import { catalogServices } from './catalog/service.ts'
import { fraudServices } from './fraud/service.ts'
import { limitsServices } from './limits/service.ts'
import { linksServices } from './links/service.ts'
import { matchesServices } from './matches/service.ts'
import { recommendationsServices } from './recommendations/service.ts'
import type { PipelineService } from './service.ts'
import { snippetsServices } from './snippets/service.ts'
import { trendsServices } from './trends/service.ts'

/** Every service that `PIPELINES` may name, one line each. */
// biome-ignore format: one line per service
export const pipelineServices: readonly PipelineService[] = [
  ...trendsServices,
  ...linksServices,
  ...limitsServices,
  ...snippetsServices,
  ...matchesServices,
  ...fraudServices,
  ...catalogServices,
  ...recommendationsServices,
]
