import EventLog
import Events
import JSON
import PipelineRuntime

/// What can be said of an output by itself.
struct OutputCheck: ~Copyable {
    private var parser = JSONParser(limits: JSONLimits(bytesMax: EventLogLimits.eventBytesMax - 1))

    /// - Throws: ``Breach`` where a log would not take the line.
    mutating func check(_ line: String) throws {
        if let problem = problem(with: line) { throw Breach("an output \(problem): \(line.excerpt)") }
    }

    /// Whether a log would take all of them.
    mutating func areJSON(_ lines: [String]) -> Bool {
        for line in lines where problem(with: line) != nil { return false }
        return true
    }

    private mutating func problem(with line: String) -> String? {
        Array(line.utf8).withUnsafeBytes { bytes in
            do throws(JSONError) { return try parser.parse(bytes).isObject ? nil : "is no JSON object" } catch {
                return "is no JSON: \(error)"
            }
        }
    }

    /// The sequences that an event names as its causes, or as the change that it tells of.
    mutating func causes(of line: String) -> Set<UInt64> {
        Array(line.utf8).withUnsafeBytes { bytes in
            do throws(JSONError) {
                let event = try parser.parse(bytes)
                let causes = event[.causes].map { $0.elements.compactMap { $0.natural(.sequence) } } ?? []
                return Set(causes + [event.natural(.change), event.natural(.push)].compactMap(\.self))
            } catch { return [] }
        }
    }

    /// The same text for events that are the same, however they are spelt.
    mutating func canonical(_ line: String) -> String {
        Array(line.utf8).withUnsafeBytes { bytes in
            do throws(JSONError) { return String(decoding: try parser.parse(bytes).canonical, as: UTF8.self) } catch {
                return line
            }
        }
    }
}

extension String {
    /// Enough of it to recognise it by.
    var excerpt: String { count > 120 ? "\(prefix(120))…" : self }
}

/// Where two courses of the same events part.
enum OutputDifference {
    /// - Parameter names: What the two are called.
    /// - Returns: Nil where they are the same.
    static func text(_ one: [String], _ other: [String], _ names: (String, String)) -> String? {
        guard one != other else { return nil }
        if let place = zip(one, other).enumerated().first(where: { $1.0 != $1.1 })?.offset {
            return "output \(place + 1) is \(one[place].excerpt) \(names.0), and \(other[place].excerpt) \(names.1)"
        }
        let (many, name) = one.count > other.count ? (one, names.0) : (other, names.1)
        return
            "only \(name) there is output \(min(one.count, other.count) + 1): \(many[min(one.count, other.count)].excerpt)"
    }
}
