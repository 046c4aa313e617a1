/// A rule of the plugin contract that a conformance check tries.
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
    /// Those that a stage in Swift must keep.
    public static let ofStages: [ConformanceRule] = [
        .json, .repeats, .cuts, .causes, .unknown, .odd, .deadlines, .snapshots, .recalls,
    ]

    /// Those that a program behind `command:` must keep.
    public static let ofPrograms: [ConformanceRule] = [
        .opens, .answers, .json, .repeats, .cuts, .causes, .unknown, .odd, .restarts, .frames, .gaps, .ends,
    ]

    /// What is so where the rule is kept, in one sentence.
    public var sentence: String {
        switch self {
        case .opens: "The program opens its link with protocol 1 and a name."
        case .answers: "It answers each batch once, in order, and says nothing unasked."
        case .json: "Each output is one JSON object on a line of its own, and fits the log."
        case .repeats: "The same events at the same times give the same output again."
        case .cuts: "How events are cut into batches, and long outputs into parts, does not show."
        case .causes: "Nothing is put out before there is input, and no output names a cause that did not come."
        case .unknown: "Events of a type that it does not know are passed on, or set aside with a reason."
        case .odd: "Events with missing members and members of other types do no harm."
        case .deadlines: "After a wake the deadline is later than the wake, and without input the wakes come to an end."
        case .snapshots: "A stage that goes on from a snapshot does what it would have done without."
        case .recalls: "A source that has read its own log back does what it would have done without."
        case .restarts:
            "A program that is killed between two batches and started again does what it would have done without."
        case .frames: "Control frames of a type that it does not know are passed over."
        case .gaps: "It goes on behind an event that was set aside: the next batch begins one sequence later."
        case .ends: "It ends soon after `close`, after SIGTERM, and when its standard input ends."
        }
    }
}

/// What became of one rule.
public struct ConformanceResult: Hashable, Sendable {
    /// A skipped rule is neither kept nor broken.
    public enum Verdict: Hashable, Sendable {
        case passed
        /// What was seen that must not be.
        case failed(String)
        /// Why there was nothing to try.
        case skipped(String)
    }

    /// The rule that was tried.
    public var rule: ConformanceRule
    /// What the trial showed.
    public var verdict: Verdict

    /// Made by the checks of this module.
    public init(_ rule: ConformanceRule, _ verdict: Verdict) { (self.rule, self.verdict) = (rule, verdict) }

    /// The rule and what was seen; nil where the rule is kept.
    public var problem: String? {
        guard case .failed(let seen) = verdict else { return nil }
        return "\(rule.rawValue): \(seen)"
    }
}

/// Why a rule cannot be tried.
struct NothingToTry: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}

/// A stage that is woken to no end: nothing else can be tried with it.
struct WakesWithoutEnd: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension ConformanceResult {
    /// Tries a rule.
    ///
    /// - Parameter attempt: Throws a ``Breach`` where the rule is broken, ``NothingToTry`` where it says nothing.
    init(_ rule: ConformanceRule, _ attempt: () throws -> Void) {
        do {
            try attempt()
            self.init(rule, .passed)
        } catch let nothing as NothingToTry {
            self.init(rule, .skipped(nothing.reason))
        } catch let wakes as WakesWithoutEnd where rule != .deadlines {
            self.init(rule, .skipped("the stage cannot be followed to an end: \(wakes)"))
        } catch {
            self.init(rule, .failed("\(error)"))
        }
    }
}
