import PipelineKit
import PipelineRuntime

@testable import PipelineRuntime

/// A pipeline that is broken on purpose. The simulation must detect it.
enum Canary: String, CaseIterable, Sendable {
    /// The deliver stage loses some of its events, such as outcomes.
    case lostOutcome
    /// A link passes some batches on twice.
    case repeatedBatch
    /// The coalesce stage uses the machine's clock.
    case wallClock

    /// The first words of the problem that the simulation must report.
    var finding: String {
        switch self {
        case .lostOutcome: "conservation: outcome"
        case .repeatedBatch, .wallClock: "replay of notifications"
        }
    }

    var registry: Registry {
        switch self {
        case .lostOutcome: .simulated.replacing(with: OutcomeLosingDeliver.self)
        case .repeatedBatch: .simulated
        case .wallClock: .simulated.replacing(with: WallClockCoalesce.self)
        }
    }

    func inlet(_ link: LinkClient, of stage: String) -> (any StageInlet)? {
        self == .repeatedBatch && stage == "coalesce" ? RepeatingInlet(link) : nil
    }
}
