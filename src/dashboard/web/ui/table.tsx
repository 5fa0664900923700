import type { ComponentChildren } from 'preact'

export interface Column<T> {
  /** Left out for the buttons of a row. */
  title?: string
  /** Beside the value on a phone, where it is not the title. */
  label?: string
  class?: string
  cell: (row: T) => ComponentChildren
}

/** On a phone every row is a block of its own, each value with its label. */
export function Table<T>(props: {
  columns: readonly Column<T>[]
  rows: readonly T[]
  idOf: (row: T) => string | number
  /** In place of the rows where there are none. */
  none?: ComponentChildren
  testId?: string
}) {
  const { columns, rows, idOf } = props
  return (
    <table class="stack" data-testid={props.testId}>
      <thead>
        <tr>
          {columns.map(({ title, class: name }) => (
            <th key={title} class={title && name}>
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.length === 0 && props.none && (
          <tr>
            <td colSpan={columns.length} class="muted">
              {props.none}
            </td>
          </tr>
        )}
        {rows.map((row) => (
          <tr key={idOf(row)} data-row={idOf(row)}>
            {columns.map(({ title, label = title, class: name, cell }) => (
              <td key={title} data-label={label} class={title === undefined ? 'actions' : name}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
