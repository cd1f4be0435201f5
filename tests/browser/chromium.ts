import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, onTestFinished } from 'vitest'

const SETUP_TIMEOUT_MS = 120_000
/**
 * Time limit of each action in a page. An action takes milliseconds, but actions have exceeded the default limit of
 * 30 s while other tests kept the machine busy. The limit is shorter than a test's time limit, so that the error names
 * the action.
 */
const ACTION_TIMEOUT_MS = 100_000
/**
 * Features that are switched off because they take half of the CPU time of these tests. The first two open two pages
 * for the popup of the address bar in each window. The third starts a process for a page that is never opened.
 */
const UNUSED_FEATURES = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'SpareRendererForSitePerProcess']
/**
 * Features that Playwright switches off, as of version 1.65. Chromium applies only the last list in its command line,
 * so the list of the tests replaces Playwright's list and has to repeat it.
 */
const OFF_IN_PLAYWRIGHT = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
]
const ARGUMENTS = ['--no-sandbox', `--disable-features=${[...OFF_IN_PLAYWRIGHT, ...UNUSED_FEATURES].join(',')}`]
const PATH = (process.env.PATH ?? '').split(delimiter)
const executablePath = PATH.map((folder) => join(folder, 'chromium')).find((file) => existsSync(file))

/** A page in a separate browser context. */
export interface WatchedPage {
  readonly page: Page
  /** All console errors, exceptions and dialogs of the page, and its requests to other origins. */
  readonly complaints: string[]
}

/** Starts a browser for the tests of a `describe`. If Chromium is not installed, these tests are skipped. */
export function useChromium() {
  let browser: Browser
  beforeAll(async () => {
    if (executablePath === undefined) return
    browser = await chromium.launch({ executablePath, args: ARGUMENTS })
  }, SETUP_TIMEOUT_MS)
  beforeEach(({ skip }) => skip(executablePath === undefined, 'Chromium is not installed: apt-get install chromium'))
  afterAll(() => browser?.close(), SETUP_TIMEOUT_MS)

  /** Opens an empty page. Relative URLs refer to `origin`, and requests to other origins are recorded as complaints. */
  return async function open(origin: string, options: BrowserContextOptions = {}): Promise<WatchedPage> {
    const context = await browser.newContext({ baseURL: origin, ...options })
    context.setDefaultTimeout(ACTION_TIMEOUT_MS)
    onTestFinished(() => context.close())
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())))
    page.on('pageerror', (error) => void complaints.push(error.message))
    page.on('dialog', (dialog) => void complaints.push(`dialog ${dialog.message()}`))
    page.on('request', (request) => void (new URL(request.url()).origin !== origin && complaints.push(`request to ${request.url()}`)))
    return { page, complaints }
  }
}

export const background = (page: Page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor)

/** Returns, for each element, the number of lines of its text. */
export function linesOf(elements: Locator): Promise<number[]> {
  return elements.evaluateAll((found) =>
    found.map((one) => {
      const text = document.createRange()
      text.selectNodeContents(one)
      return text.getClientRects().length
    }),
  )
}
