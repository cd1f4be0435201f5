import { expect, test } from 'vitest'
import { isCode, isReserved } from '../../../api/links/codes.ts'
import { apiServices } from '../../../api/services.ts'
import { serviceOnFakes } from '../on-fakes.ts'

test('no short code equals the first segment of the path of a page or endpoint, because a short domain may also be the host of the API', async () => {
  const opened = await Promise.all(apiServices.map(({ name }) => serviceOnFakes(name)))
  const paths = opened.flatMap(({ service }) => service.routes.map(({ definition }) => definition.path))
  const first = new Set(['/livez', '/readyz', '/docs', ...paths].map((path) => path.split('/')[1]))
  expect([...first].sort()).toEqual(expect.arrayContaining(['api', 'fraud', 'match', 'shop', 'trends', 'v1']))
  const free = [...first].filter((segment) => isCode(segment) && !isReserved(segment))
  expect(free).toEqual([])
})
