import JSON

/// A JSON value of a report.
package indirect enum ReportValue: Hashable, Sendable {
    case count(UInt64)
    /// Rounded to three decimals.
    case number(Double)
    case text(String)
    case flag(Bool)
    case list([ReportValue])
    case object([Member])

    package struct Member: Hashable, Sendable {
        package var key: String
        package var value: ReportValue

        package init(key: String, value: ReportValue) { (self.key, self.value) = (key, value) }
    }

    package static func object(_ members: KeyValuePairs<String, ReportValue>) -> ReportValue {
        .object(members.map { Member(key: $0.key, value: $0.value) })
    }

    package static func count(_ number: Int) -> ReportValue { .count(UInt64(max(0, number))) }

    package var json: String { buffer.text }

    package var buffer: ByteBuffer {
        var buffer = ByteBuffer(capacity: 4096)
        write(to: &buffer)
        return buffer
    }

    fileprivate func write(to buffer: inout ByteBuffer) {
        switch self {
        case .count(let count): buffer.appendJSON(count)
        case .number(let number): buffer.appendJSON((number * 1_000).rounded() / 1_000)
        case .text(let text): buffer.appendJSON(text)
        case .flag(let flag): buffer.appendJSON(flag)
        case .list(let values): buffer.list(values) { $1.write(to: &$0) }
        case .object(let members):
            buffer.object {
                for member in members {
                    $0.append(key: member.key)
                    member.value.write(to: &$0)
                }
            }
        }
    }
}
