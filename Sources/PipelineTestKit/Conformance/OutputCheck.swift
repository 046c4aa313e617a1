import EventLog
import Events
import JSON
import PipelineRuntime

/// Checks single outputs and their causes.
struct OutputCheck: ~Copyable {
    private var parser = JSONParser(limits: JSONLimits(bytesMax: EventLogLimits.eventBytesMax - 1))

    /// - Throws: ``RuleViolation`` if a log would not accept the line.
    mutating func check(_ line: String) throws {
        if let problem = problem(with: line) { throw RuleViolation("an output \(problem): \(line.excerpt)") }
    }

    /// Whether a log would accept all lines.
    mutating func areJSON(_ lines: [String]) -> Bool {
        for line in lines where problem(with: line) != nil { return false }
        return true
    }

    private mutating func problem(with line: String) -> String? {
        Array(line.utf8).withUnsafeBytes { bytes in
            do throws(JSONError) { return try parser.parse(bytes).isObject ? nil : "is not a JSON object" } catch {
                return "is not JSON: \(error)"
            }
        }
    }

    /// The sequences that an event names as its causes, its change or its push.
    mutating func causes(of line: String) -> Set<UInt64> {
        line.withJSON { event in
            let causes = event[.causes].map { $0.elements.compactMap { $0.natural(.sequence) } } ?? []
            return Set(causes + [event.natural(.change), event.natural(.push)].compactMap(\.self))
        } ?? []
    }

    /// Checks that each output names only causes from the input so far: the sequences of the input events, and the
    /// causes that these events name.
    ///
    /// - Parameter outputs: Returns the outputs for the sample at an index.
    mutating func checkCauses(of samples: [SampleEvent], _ outputs: (Int) throws -> [String]) throws {
        var known: Set<UInt64> = []
        for (index, sample) in samples.enumerated() {
            known.formUnion(causes(of: sample.line))
            known.insert(UInt64(index) + 1)
            for line in try outputs(index) {
                guard let unknown = causes(of: line).subtracting(known).min() else { continue }
                throw RuleViolation("an output names the cause \(unknown), which was not in the input: \(line.excerpt)")
            }
        }
    }

    /// The event in a form that is equal for events with the same content.
    mutating func canonical(_ line: String) -> String {
        line.withJSON { String(decoding: $0.canonical, as: UTF8.self) } ?? line
    }
}

extension String {
    /// Calls `body` with the parsed text; returns nil if the text is not JSON.
    func withJSON<Result>(_ body: (JSONValue) -> Result) -> Result? {
        var parser = JSONParser(limits: EventReader.linkLimits)
        return Array(utf8).withUnsafeBytes { bytes in
            do throws(JSONError) { return body(try parser.parse(bytes)) } catch { return nil }
        }
    }

    /// The text; only the first 120 characters of a longer text.
    var excerpt: String { count > 120 ? "\(prefix(120))…" : self }
}

/// Compares the outputs of two runs.
enum OutputDifference {
    /// - Parameter names: Describe the two runs.
    /// - Returns: The first difference; nil if the outputs are equal.
    static func text(_ one: [String], _ other: [String], _ names: (String, String)) -> String? {
        guard one != other else { return nil }
        if let place = zip(one, other).enumerated().first(where: { $1.0 != $1.1 })?.offset {
            return "output \(place + 1) is \(one[place].excerpt) \(names.0), but \(other[place].excerpt) \(names.1)"
        }
        let (many, name) = one.count > other.count ? (one, names.0) : (other, names.1)
        let place = min(one.count, other.count)
        return "output \(place + 1) exists only \(name): \(many[place].excerpt)"
    }
}
