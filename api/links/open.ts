import { clicks } from '../../schemas/links/topics.ts'
import { factBuffer } from '../kit/fact-buffer.ts'
import type { OpenService, ServiceKit } from '../service.ts'
import { shortDomains } from './domains.ts'
import { linksHandlers } from './handlers.ts'
import { redirects } from './redirect.ts'
import { developmentSecret } from './secret.ts'
import type { LinksSettings } from './settings.ts'

/** Maximum number of clicks that wait for Kafka. This many clicks take about 30 MB. */
const CLICKS_CAPACITY = 100_000
/** Time limit for sending the last clicks. If Kafka is reachable, sending takes less time. */
const LAST_CLICKS_MS = 2_000

/** Opens the routes on the API's port. The redirects also get a port of their own. */
export async function openLinks(kit: ServiceKit, settings: LinksSettings): Promise<OpenService> {
  const { facts, sharedViews, surroundings, trusted, metrics, log, now } = kit
  const domains = shortDomains(settings.domains)
  const secret = settings.secret ?? developmentSecret(surroundings.home)
  const waiting = factBuffer({
    open: () => facts.openLog(clicks),
    capacity: CLICKS_CAPACITY,
    registry: metrics.registry,
    name: 'clicks',
    log,
  })
  const { countryHeader, shortPort } = settings
  const { listener, front } = redirects({ views: sharedViews, facts, clicks: waiting, domains, trusted, countryHeader, metrics, log, now })
  return {
    ...linksHandlers({ ...kit, domains, secret }),
    front,
    listeners: [{ logField: 'short_url', port: shortPort, portSetting: 'SHORT_PORT', front: listener }],
    close: () => waiting.close(LAST_CLICKS_MS),
  }
}
