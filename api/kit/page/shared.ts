import { type BoundRoute, bind } from '../route.ts'
import { pageFileRoute } from './file-route.ts'
import { pageFiles } from './files.ts'

/**
 * The path of the route mirrors the folder tree, so that relative imports resolve to the same file in a browser and on
 * disk, where tsc checks them.
 */
const sharedFileRoute = pageFileRoute('/kit/page/browser', 'sharedPageFile', {
  summary: 'Read a script or a style sheet that pages share',
  description: 'Returns a file that only the HTML pages need. File names may change.',
  example: 'base.css',
})

const FILES = ['base.css', 'elements.js', 'form.js', 'plane.js', 'requests.js', 'session.js', 'svg.js']

/** Creates the route of the files that the pages of several services share. */
export function sharedFiles(): BoundRoute {
  const files = pageFiles({ folder: new URL('./browser/', import.meta.url), files: FILES })
  return bind(sharedFileRoute, ({ params: { file } }) => files.file(file))
}
