import PipelineKit

/// Which dead letters are redriven, and which apps and devices they reach.
package struct RedrivePlan {
    package let found: DeadLetters
    let limit: Int
    /// The letters to redrive, in the order in which they are sent.
    package let selected: [RedriveCandidate]
    package let redrivableCount: Int

    package init(_ found: DeadLetters, limit: Int) {
        let redrivable = found.letters.filter(\.isRedrivable)
        (self.found, self.limit) = (found, limit)
        (selected, redrivableCount) = (Array(redrivable.prefix(limit)), redrivable.count)
    }

    /// How to redrive the letters that were not sent.
    package var continuation: String {
        found.includesRedriven
            ? "the same command would send the same letters again, so select the others with filters"
            : "run the same command again"
    }

    /// The pushes that one app gets through one transport.
    struct App {
        let container, environment, topic, transport: String
        let pushes: Int
        let devices: Set<DeviceKey>

        var users: Int { Set(devices.map(\.user)).count }
    }

    /// Sorted by container, environment, topic and transport.
    var apps: [App] {
        Dictionary(grouping: selected.map(\.letter).filter(\.isPush)) { letter in
            [letter.container?.string, letter.environment?.string, letter.topic?.string, letter.transport].map {
                $0 ?? ""
            }
        }.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { names, letters in
            App(
                container: names[0], environment: names[1], topic: names[2], transport: names[3],
                pushes: letters.count, devices: Set(letters.compactMap(\.deviceKey)))
        }
    }

    var obsolete: [Obsolescence: Int] {
        let reasons = found.letters.compactMap { candidate -> Obsolescence? in
            if case .obsolete(let why, _) = candidate.verdict { why } else { nil }
        }
        return Dictionary(grouping: reasons) { $0 }.mapValues(\.count)
    }

    /// The reasons why letters cannot be redriven, the most frequent first.
    var impossible: [(reason: String, count: Int)] {
        let reasons = found.letters.compactMap { candidate -> String? in
            if case .impossible(let reason) = candidate.verdict { reason } else { nil }
        }
        return Dictionary(grouping: reasons) { $0 }.map { (reason: $0.key, count: $0.value.count) }
            .sorted { ($1.count, $0.reason) < ($0.count, $1.reason) }
    }
}

extension DeadLetter {
    /// Nil if the letter names no user or no device, or if its container or environment is unknown.
    fileprivate var deviceKey: DeviceKey? {
        guard let container, let environment, let user, let device else { return nil }
        return DeviceKey(
            user: UserKey(container: container, environment: environment, user: user), device: device)
    }
}
