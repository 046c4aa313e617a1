import Predicates
import TestSupport
import Testing

@testable import Match

@Suite struct GridTests {
    @Test(arguments: [UInt64(1), 2, 3])
    func `a location in a circle lies in one of the circle's cells`(seed: UInt64) throws {
        var random = Seeded(seed)
        var inside = 0
        for _ in 0..<3_000 {
            let centre = place(&random)
            let radius = [0.0, 1, 300, 20_000, 900_000, 9_000_000, 20_100_000][random.below(7)]
            let circle = try circle(centre, radius)
            let (level, cells) = Grid.cells(circle)
            #expect(cells.count <= 4 && (0...Grid.levelMax).contains(level))
            for _ in 0..<20 {
                let other = random.below(2) == 0 ? place(&random) : near(centre, radius, &random)
                guard circle.contains(latitude: other.latitude, longitude: other.longitude) else { continue }
                inside += 1
                let cell = Grid.cell(level, other.latitude, other.longitude)
                #expect(cells.contains(cell), "seed \(seed): \(centre), \(radius) m, \(other)")
            }
        }
        #expect(inside > 10_000)
    }

    /// A random location. Poles, the date line and the equator are frequent.
    private func place(_ random: inout Seeded) -> (latitude: Double, longitude: Double) {
        let latitudes = [90.0, -90, 89.9999, 0, 48.2, -33.9]
        let longitudes = [180.0, -180, 179.9999, 0, 16.4, -70.6]
        let latitude = random.below(2) == 0 ? latitudes[random.below(6)] : Double(random.below(1_800_001)) / 10_000 - 90
        let longitude =
            random.below(2) == 0 ? longitudes[random.below(6)] : Double(random.below(3_600_001)) / 10_000 - 180
        return (latitude, longitude)
    }

    private func near(
        _ centre: (latitude: Double, longitude: Double), _ radius: Double, _ random: inout Seeded
    ) -> (latitude: Double, longitude: Double) {
        func shift() -> Double { (Double(random.below(2_001)) / 1_000 - 1) * radius / 111_195 }
        var longitude = centre.longitude + shift()
        if longitude > 180 { longitude -= 360 }
        if longitude < -180 { longitude += 360 }
        return (min(max(centre.latitude + shift(), -90), 90), max(-180, min(180, longitude)))
    }

    private func circle(_ centre: (latitude: Double, longitude: Double), _ radius: Double) throws -> Circle {
        let text =
            "distanceToLocation:fromLocation:(p, location(\(centre.latitude), \(centre.longitude))) < \(radius + 0.001)"
        let clause = try #require(try RecordPredicate(text: text).clauses.first)
        guard case .circle(let circle) = try #require(clause.values.first) else {
            throw GridTestError.noCircle
        }
        return circle
    }

    private enum GridTestError: Error { case noCircle }
}
