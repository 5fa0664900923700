/**
 * Must hold: every alert is valid, the guide says what to do about it, and a test has a real fault that makes it fire
 * (`promtool.ts` says how); every panel asks what Prometheus understands. `e2e/alerts` has the metrics that they read.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { dashboards, metricsIn, panelExpressions } from './dashboards.ts'
import { ALERTS_FILE, checkExpressions, noPromtool } from './promtool.ts'

const ROOT = join(import.meta.dirname, '../..')
interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string }
}
const rules = (parse(readFileSync(ALERTS_FILE, 'utf8')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
)

test('the alerts are rules that Prometheus takes', { skip: noPromtool }, () => {
  execFileSync('promtool', ['check', 'rules', '--lint=all', '--lint-fatal', ALERTS_FILE], { stdio: 'pipe' })
})

test('every alert has a severity, a summary, a description and a test in which it fires', () => {
  const tests = globSync('test/{deploy,e2e}/*alerts.test.ts', { cwd: ROOT })
    .map((file) => readFileSync(join(ROOT, file), 'utf8'))
    .join('\n')
  for (const { alert, labels, annotations } of rules) {
    assert.match(labels.severity, /^(critical|warning)$/, alert)
    assert.ok(annotations.summary && annotations.description, alert)
    assert.ok(tests.includes(`alertname: '${alert}'`), `${alert} is not tested`)
  }
})

test('every panel asks for a metric, in words that Prometheus understands', { skip: noPromtool }, () => {
  checkExpressions(panelExpressions.map(({ expr }) => expr))
  for (const { panel, expr } of panelExpressions) assert.ok(metricsIn(expr).length > 0, panel)
})

test('the dashboards are those of the service, the recording, the nodes, the deliveries and the database', () => {
  assert.deepEqual(dashboards.map(({ uid }) => uid).sort(), [
    'tapeline-database',
    'tapeline-deliveries',
    'tapeline-nodes',
    'tapeline-recording',
    'tapeline-service',
  ])
  for (const { file, panels } of dashboards) {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length, file)
    for (const { title, gridPos } of panels) assert.ok(gridPos.x + gridPos.w <= 24, `${file}: ${title}`)
  }
})
