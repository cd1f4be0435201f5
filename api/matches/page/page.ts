import { pageFiles } from '../../kit/page/files.ts'
import { bind } from '../../kit/route.ts'
import { matchPageFileRoute, matchPageRoute } from './routes.ts'

const FILES = [
  'style.css',
  'main.js',
  'client.js',
  'messages.js',
  'forms.js',
  'deck.js',
  'card.js',
  'matches.js',
  'search-map.js',
  'map-drawing.js',
]

/**
 * Creates the routes of the page. The page loads files only from this server, and shows no photos. Users choose the
 * URLs of their photos, and loading a photo would reveal to its server who views whom.
 */
export function pageRoutes() {
  const files = pageFiles({ folder: new URL('./browser/', import.meta.url), files: FILES })
  return [bind(matchPageRoute, () => files.page('page.html')), bind(matchPageFileRoute, ({ params: { file } }) => files.file(file))]
}
