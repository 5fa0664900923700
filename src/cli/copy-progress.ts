/** Shows the progress of a copy or a backup: a bar on a terminal, otherwise a line from time to time. */
import { progressBar } from './progress-bar.ts'

const LINE_EVERY_MS = 10_000

interface StepProgress {
  readonly step: string
  readonly about: string
  /** Units of this step. */
  readonly done: number
  readonly total: number
}

const UNITS = {
  rows: grouped,
  MB: (bytes: number) => grouped(Math.round(bytes / 1e6)),
}

export function copyProgress(
  unit: keyof typeof UNITS = 'rows',
  terminal: { isTTY?: boolean; write(text: string): unknown } = process.stderr,
  now: () => number = () => performance.now(),
) {
  const bar = progressBar(terminal)
  const shown = UNITS[unit]
  let step: { name: string; startedMs: number; startedAt: number } | undefined
  let lineMs = now()
  return {
    show({ step: name, about, done, total }: StepProgress): void {
      // What an earlier attempt has copied does not count towards the speed of this one.
      if (step?.name !== name) step = { name, startedMs: now(), startedAt: done }
      const seconds = (now() - step.startedMs) / 1000
      const rate = seconds > 0 ? (done - step.startedAt) / seconds : 0
      const left = rate > 0 ? `, ${timeText((total - done) / rate)} left` : ''
      const text = `${name} ${about}: ${shown(done)} of ${shown(total)} ${unit}, ${shown(Math.round(rate))} ${unit}/s${left}`
      bar.show(done, total, text)
      if (terminal.isTTY === true || now() - lineMs < LINE_EVERY_MS) return
      lineMs = now()
      terminal.write(`${text}\n`)
    },
    end: () => bar.end(),
  }
}

function timeText(seconds: number): string {
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 90 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',')
}
