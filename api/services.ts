import { catalogService } from './catalog/service.ts'
import { fraudService } from './fraud/service.ts'
import { limitsService } from './limits/service.ts'
import { linksService } from './links/service.ts'
import { matchesService } from './matches/service.ts'
import { recommendationsService } from './recommendations/service.ts'
import type { ApiService } from './service.ts'
import { snippetsService } from './snippets/service.ts'
import { trendsService } from './trends/service.ts'

/** All services that `API_SERVICES` may name, one per line. */
// biome-ignore format: one line per service
export const apiServices: readonly ApiService[] = [
  trendsService,
  linksService,
  snippetsService,
  matchesService,
  fraudService,
  catalogService,
  recommendationsService,
  limitsService,
]
