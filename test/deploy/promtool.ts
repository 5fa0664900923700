/**
 * The alerts of `deploy/prometheus/` on metrics that were scraped from a service: `promtool` gets the samples as they
 * were, one after the other, at the distance in time that the test chooses.
 */
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { stringify } from 'yaml'

export const ALERTS_FILE = join(import.meta.dirname, '../../deploy/prometheus/alerts.yaml')
const run = promisify(execFile)

/** What one request for the metrics brought; no text where it failed. */
export interface Scrape {
  readonly atMs: number
  readonly text: string | undefined
}

export const noPromtool: string | false = hasPromtool()
  ? false
  : 'promtool is missing (Debian package prometheus)'

function hasPromtool(): boolean {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export async function scrape(url: string, token?: string): Promise<Scrape> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  try {
    const answer = await fetch(url, { headers, signal: AbortSignal.timeout(10_000) })
    return { atMs: Date.now(), text: answer.ok ? await answer.text() : undefined }
  } catch {
    return { atMs: Date.now(), text: undefined }
  }
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)$/

export interface Sample {
  readonly name: string
  /** With braces; empty without labels. */
  readonly labels: string
  readonly value: number
}

export function samplesOf(text: string): Sample[] {
  return text.split('\n').flatMap((line) => {
    const [, name, labels = '', value] = SAMPLE.exec(line) ?? []
    return name === undefined ? [] : [{ name, labels, value: Number(value) }]
  })
}

/** Of one instance. Points in time are as long ago, or ahead, as they were at the scrape. */
function inputSeries(scrapes: readonly Scrape[], everySeconds: number) {
  const series = new Map<string, (number | undefined)[]>()
  const put = (name: string, index: number, value: number) => {
    const values = series.get(name) ?? []
    values[index] = value
    series.set(name, values)
  }
  for (const [index, { atMs, text }] of scrapes.entries()) {
    put('up{instance="a",job="tapeline"}', index, text === undefined ? 0 : 1)
    for (const { name, labels, value } of samplesOf(text ?? '')) {
      const all = `${labels.slice(0, -1) || '{'}${labels.length > 2 ? ',' : ''}instance="a",job="tapeline"}`
      const shift = name.endsWith('_timestamp_seconds') ? index * everySeconds - atMs / 1000 : 0
      put(`${name}${all}`, index, value + shift)
    }
  }
  return [...series].map(([name, values]) => ({
    series: name,
    values: Array.from(scrapes, (_, index) => values[index] ?? '_').join(' '),
  }))
}

/** Throws where Prometheus does not understand one of them. */
export function checkExpressions(expressions: readonly string[]): void {
  const rules = expressions.map((expr, index) => ({ record: `panel:number_${index}`, expr }))
  const groups = [{ name: 'panels', rules }]
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-panels-'))
  const file = join(folder, 'rules.yaml')
  writeFileSync(file, stringify({ groups }))
  try {
    execFileSync('promtool', ['check', 'rules', '--lint=none', file], { stdio: 'pipe' })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Rejects where one of them has no value at the last of the scrapes. */
export async function expectValues(
  scrapes: readonly Scrape[],
  { everySeconds, expressions }: { everySeconds: number; expressions: readonly string[] },
): Promise<void> {
  await runTest(scrapes, everySeconds, {
    promql_expr_test: expressions.map((expr) => ({
      expr: `group(${expr})`,
      eval_time: `${(scrapes.length - 1) * everySeconds}s`,
      exp_samples: [{ labels: '{}', value: 1 }],
    })),
  })
}

/**
 * Rejects unless exactly these alerts fire at the last of the scrapes.
 * @param by the labels that tell alerts apart, beside their name
 * @param ever at any of the scrapes
 */
export async function expectFiring(
  scrapes: readonly Scrape[],
  options: {
    readonly everySeconds: number
    readonly alerts: readonly Readonly<Record<string, string>>[]
    readonly by?: readonly string[]
    readonly ever?: true
  },
): Promise<void> {
  const { everySeconds, alerts, by = [], ever } = options
  const seconds = (scrapes.length - 1) * everySeconds
  const firing = 'ALERTS{alertstate="firing"}'
  const labelsOf = (labels: Readonly<Record<string, string>>) =>
    `{${Object.entries(labels)
      .map(([name, value]) => `${name}=${JSON.stringify(value)}`)
      .join(',')}}`
  await runTest(scrapes, everySeconds, {
    promql_expr_test: [
      {
        expr: `group by (${['alertname', ...by].join()}) (${ever ? `last_over_time(${firing}[${seconds + 1}s])` : firing})`,
        eval_time: `${seconds}s`,
        exp_samples: alerts.map((labels) => ({ labels: labelsOf(labels), value: 1 })),
      },
    ],
  })
}

async function runTest(scrapes: readonly Scrape[], everySeconds: number, expected: object): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeline-alerts-'))
  const file = join(folder, 'test.yaml')
  const input_series = inputSeries(scrapes, everySeconds)
  const tests = [{ interval: `${everySeconds}s`, input_series, ...expected }]
  writeFileSync(file, stringify({ rule_files: [ALERTS_FILE], evaluation_interval: '30s', tests }))
  try {
    await run('promtool', ['test', 'rules', file])
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${stdout}\n${stderr}`.slice(0, 4_000))
  } finally {
    rmSync(folder, { recursive: true })
  }
}
