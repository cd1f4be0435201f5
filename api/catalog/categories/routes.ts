import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { pageLimitParameter, pageParameter } from '../../kit/parameters.ts'
import { defineRoute } from '../../kit/route.ts'
import { catalogErrors } from '../errors.ts'
import { category, categoryId, newCategory } from './model.ts'

const MOST_PAGES = 1_000

export const putCategoryRoute = defineRoute({
  method: 'put',
  path: '/api/v1/categories/{category_id}',
  operationId: 'putCategory',
  summary: 'Create or replace a category',
  description:
    'The change takes effect everywhere within a second. The parent must exist, and must not be the category itself or one of its descendants. When a category moves, its products move with it.',
  auth: { kind: 'scope', scope: 'admin' },
  params: z.object({ category_id: categoryId }),
  body: newCategory,
  bodyExample: { name: 'Saws', slug: 'saws', parent_id: null },
  answers: { 200: { description: 'The category.', schema: category } },
  errors: [errors.invalid_request, catalogErrors.unknown_category, errors.not_ready, errors.unavailable],
})

export const listCategoriesRoute = defineRoute({
  method: 'get',
  path: '/api/v1/categories',
  operationId: 'listCategories',
  summary: 'List all categories',
  description: 'Returns the categories, sorted by path.',
  auth: { kind: 'open' },
  query: z.object({ page: pageParameter(MOST_PAGES), limit: pageLimitParameter('categories') }),
  answers: {
    200: {
      description: 'A page of categories.',
      schema: z.object({ categories: z.array(category), total: z.int(), page: z.int() }).openapi('Categories'),
    },
  },
  errors: [errors.invalid_request, errors.not_ready],
})

export const readCategoryRoute = defineRoute({
  method: 'get',
  path: '/api/v1/categories/{category_id}',
  operationId: 'readCategory',
  summary: 'Read a category and its direct children',
  description: 'Returns the category and its direct children. The children are sorted by id.',
  auth: { kind: 'open' },
  params: z.object({ category_id: categoryId }),
  answers: {
    200: { description: 'The category.', schema: category.extend({ children: z.array(category) }).openapi('CategoryWithChildren') },
  },
  errors: [errors.not_found, errors.not_ready],
})
