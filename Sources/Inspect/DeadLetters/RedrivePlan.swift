import PipelineKit

/// Which of the letters are redriven, and whom they reach.
package struct RedrivePlan {
    package let found: DeadLetters
    /// At most so many.
    let limit: Int
    /// In the order in which they are sent.
    package let selected: [JudgedLetter]
    package let redrivable: Int

    package init(_ found: DeadLetters, limit: Int) {
        let redrivable = found.letters.filter(\.isRedrivable)
        (self.found, self.limit) = (found, limit)
        (selected, self.redrivable) = (Array(redrivable.prefix(limit)), redrivable.count)
    }

    /// An app at a transport, and what it gets.
    struct App {
        let container, environment, topic, transport: String
        var pushes = 0
        var devices: Set<DeviceKey> = []

        var users: Int { Set(devices.map(\.user)).count }
    }

    /// By their names.
    var apps: [App] {
        var apps: [[String]: App] = [:]
        for letter in selected.map(\.letter) where letter.isPush {
            let names =
                [letter.container?.string, letter.environment?.string, letter.topic?.string, letter.transport].map {
                    $0 ?? ""
                }
            var app =
                apps[names] ?? App(container: names[0], environment: names[1], topic: names[2], transport: names[3])
            app.pushes += 1
            if let device = letter.deviceKey { app.devices.insert(device) }
            apps[names] = app
        }
        return apps.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
    }

    var obsolete: [Obsolescence: Int] {
        var counts: [Obsolescence: Int] = [:]
        for judged in found.letters {
            if case .obsolete(let why, _) = judged.verdict { counts[why, default: 0] += 1 }
        }
        return counts
    }

    /// Why letters cannot be redriven, the most frequent reason first.
    var impossible: [(reason: String, count: Int)] {
        var counts: [String: Int] = [:]
        for judged in found.letters {
            if case .impossible(let reason) = judged.verdict { counts[reason, default: 0] += 1 }
        }
        return counts.map { (reason: $0.key, count: $0.value) }.sorted { ($1.count, $0.reason) < ($0.count, $1.reason) }
    }
}

extension Letter {
    /// Nil for what is not for a device, or of which the app is not known.
    fileprivate var deviceKey: DeviceKey? {
        guard let container, let environment, let user, let device else { return nil }
        return DeviceKey(
            user: UserKey(container: container, environment: environment, user: user), device: device)
    }
}
