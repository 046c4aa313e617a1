/// A rule of the plugin contract. The conformance checks test it.
public enum ConformanceRule: String, CaseIterable, Sendable, Hashable {
    case opens
    case answers
    case json
    case repeats
    case cuts
    case causes
    case unknown
    case odd
    case deadlines
    case snapshots
    case recalls
    case restarts
    case frames
    case gaps
    case ends
}

extension ConformanceRule {
    /// The rules for stages in Swift.
    public static let ofStages: [ConformanceRule] = [
        .json, .repeats, .cuts, .causes, .unknown, .odd, .deadlines, .snapshots, .recalls,
    ]

    /// The rules for programs named by `command:`.
    public static let ofPrograms: [ConformanceRule] = [
        .opens, .answers, .json, .repeats, .cuts, .causes, .unknown, .odd, .restarts, .frames, .gaps, .ends,
    ]

    /// The rule in words.
    public var sentence: String {
        switch self {
        case .opens: "The program opens its link with protocol 1 and a name."
        case .answers: "The program answers each batch once and in order, and sends nothing else."
        case .json: "Each output is one JSON object on a line of its own, and fits into the log."
        case .repeats: "The same events at the same times always give the same output."
        case .cuts:
            "The output stays the same if events come in other batches, or if the output is split into smaller parts."
        case .causes:
            "There is no output before the first input, and no output names a cause that was not in the input."
        case .unknown: "A stage that passes events on does not drop events of an unknown type."
        case .odd:
            "Events with missing members, or with members of wrong types, cause no crash and no invalid output."
        case .deadlines: "After a wake, the deadline is later than the wake. Without input, the wakes end."
        case .snapshots: "A stage that continues from a snapshot gives the same output as one without a restart."
        case .recalls: "A source that has read back its own log gives the same output as one without a restart."
        case .restarts:
            "A program that is killed between batches and started again gives the same output as one without a restart."
        case .frames: "Control frames of an unknown type are ignored."
        case .gaps: "The program continues if the host skips the sequence of an event that was set aside."
        case .ends:
            "The program ends soon after `close`, after SIGTERM, and when its standard input ends, but not on SIGINT."
        }
    }
}

/// The result for one rule.
public struct ConformanceResult: Hashable, Sendable {
    /// A skipped rule is neither kept nor broken.
    public enum Verdict: Hashable, Sendable {
        case passed
        /// What the check observed instead of what the rule demands.
        case failed(String)
        /// Why the rule does not apply, or could not be tested.
        case skipped(String)
    }

    /// The rule that the result is for.
    public var rule: ConformanceRule
    /// Whether the rule is kept or broken, or was skipped.
    public var verdict: Verdict

    /// Pairs a rule with the verdict of its check.
    public init(_ rule: ConformanceRule, _ verdict: Verdict) { (self.rule, self.verdict) = (rule, verdict) }

    /// The rule and the observation; nil if the rule is not broken.
    public var problem: String? {
        guard case .failed(let seen) = verdict else { return nil }
        return "\(rule.rawValue): \(seen)"
    }
}

/// Thrown when a rule does not apply, or when it cannot be tested.
struct RuleNotTestable: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

/// Thrown when a stage's wakes do not end during the check of a rule. If the stage also breaks
/// ``ConformanceRule/deadlines``, only `deadlines` is reported as broken, and the checked rule is skipped. If the stage
/// keeps `deadlines`, the checked rule is reported as broken.
struct WakesWithoutEnd: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension ConformanceResult {
    /// Tests a rule.
    ///
    /// - Parameter attempt: Throws ``RuleNotTestable`` if the rule does not apply or cannot be tested. Throws
    ///   ``RuleViolation`` or another error if the rule is broken.
    init(_ rule: ConformanceRule, _ attempt: () throws -> Void) {
        do {
            try attempt()
            self.init(rule, .passed)
        } catch let error as RuleNotTestable {
            self.init(rule, .skipped(error.reason))
        } catch {
            self.init(rule, .failed("\(error)"))
        }
    }
}
